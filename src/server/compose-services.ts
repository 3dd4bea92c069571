import { type Caller, loggedActor } from "../access/caller.js";
import { causeFields } from "../api/observation/log-cause.js";
import type { InvokeProxy } from "../api/proxy/proxy-route.js";
import { recordTenantEvent } from "../audit/chain/vault-log.js";
import { readBuildVersion } from "../base/build-version.js";
import type { CompileFor } from "../functions/code.js";
import { applicationKeyService, applicationService } from "../services/applications.js";
import type { ServedMethod } from "../services/call.js";
import { failedRunService } from "../services/failed-runs.js";
import { functionTestService } from "../services/function-tests.js";
import { invitationService } from "../services/invitations.js";
import { logService } from "../services/logs.js";
import { memberService } from "../services/members.js";
import { permissionService } from "../services/permissions.js";
import { proxyService } from "../services/proxies.js";
import { reactService } from "../services/react.js";
import { reactorFormulaService } from "../services/reactor-formulas.js";
import { reactorService } from "../services/reactors.js";
import { serverService } from "../services/server.js";
import { sessionService } from "../services/sessions.js";
import { tenantService } from "../services/tenants.js";
import { tokenExportService } from "../services/token-exports.js";
import { webhookService } from "../services/webhooks.js";
import type { Config } from "../settings/config.js";
import type { Functions } from "./compose-functions.js";
import type { Reactors } from "./compose-reactors.js";
import type { Webhooks } from "./compose-webhooks.js";
import type { CoreParts } from "./core-parts.js";
import { configuredArchiving } from "./log-archiving.js";

interface ServiceParts extends Reactors, Pick<Functions, "setUpTest">, Pick<Webhooks, "deliveries"> {
  readonly invoke: InvokeProxy;
}

/** The methods of all services except payments and tokens. Tenants' code calls the latter too. */
export function composeServices(
  parts: CoreParts,
  config: Config,
  { invoke, react, runs, deliveries, setUpTest }: ServiceParts,
): readonly ServedMethod[] {
  const { database, keyring, clock, agents, sandbox, bins } = parts;
  const { egress: policy } = config;
  const archiving = configuredArchiving(config);
  const compileFor: CompileFor = (tenantId) => (code) => sandbox.compile(tenantId, code);
  return [
    ...applicationService(),
    ...applicationKeyService(clock),
    ...permissionService(),
    ...tenantService({
      clock,
      keyring,
      onRemoved: (caller) => noteRemoval(parts, caller),
    }),
    ...memberService(),
    ...invitationService(),
    ...sessionService(),
    ...logService({ clock, database, archive: typeof archiving === "object" ? archiving : undefined }),
    ...proxyService({ policy, compileFor, invoke }),
    ...reactorService({ compileFor }),
    ...functionTestService({ setUpTest, agents, bins }),
    ...failedRunService(),
    ...reactorFormulaService({ compileFor }),
    ...webhookService({ policy, sendNow: (tenantId, id) => deliveries.sendNow(tenantId, id) }),
    ...tokenExportService(),
    ...serverService(readBuildVersion()),
    ...reactService({ policy, react, wake: (tenantId) => runs.wake(tenantId) }),
  ];
}

/** The tenant is gone by now, whether or not this can be recorded: its row keeps when and by which caller. */
async function noteRemoval({ database, keyring, log }: CoreParts, caller: Caller): Promise<void> {
  const { id, type } = loggedActor(caller);
  const by = { tenant_id: caller.tenantId, application_id: id };
  log.warn(by, "a tenant was deleted");
  await recordTenantEvent({ database, keyring }, "delete", caller.tenantId, {
    remark: `by ${type} ${id}`,
    isByServer: true,
  }).catch((error: unknown) =>
    log.warn({ ...by, ...causeFields(error) }, "tenant deletion could not be recorded in the vault's own log"),
  );
}
