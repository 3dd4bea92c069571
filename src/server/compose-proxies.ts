import type { InvokeProxy } from "../api/proxy/proxy-route.js";
import type { RefusedCredential } from "../audit/refused-credentials.js";
import type { FunctionRunner } from "../functions/function-runner.js";
import { createTokenFor } from "../functions/serve-host-calls.js";
import { invokeProxy } from "../proxy/invoke.js";
import { ProxyLoader } from "../proxy/load-proxy.js";
import { runReactorStep } from "../proxy/reactor-step.js";
import { RunTransforms } from "../proxy/run-transforms.js";
import type { CoreParts } from "./core-parts.js";

export function composeProxies(
  core: CoreParts,
  functions: FunctionRunner,
  onRefused: (refused: RefusedCredential) => void,
): InvokeProxy {
  const { database, keyring, tenants, authenticator, agents, bins, callApi } = core;
  const loader = new ProxyLoader(database, keyring, onRefused);
  const transforms = new RunTransforms({
    functions,
    async application(tenantId, { proxy: { applicationId }, revision }, context) {
      return applicationId ? authenticator.application(tenantId, applicationId, context, revision) : undefined;
    },
    createToken: (application, request, signal) => createTokenFor(callApi, application, request, signal),
    runReactor: runReactorStep({ tenants, authenticator, functions }),
  });
  return (call) => invokeProxy({ database, keyring, authenticator, loader, agents, transforms, bins }, call);
}
