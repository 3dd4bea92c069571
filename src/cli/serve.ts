import { recordTenantEvent } from "../audit/chain/vault-log.js";
import { Sensitive } from "../crypto/sensitive.js";
import { addressForPeople } from "../people/relying-party.js";
import { createOperatorLink } from "../people/sign-in-link.js";
import { SIGN_IN_PATH } from "../people/sign-in-message.js";
import { type RunningServer, StoppedAtStart } from "../server/running-server.js";
import { SHUTDOWN_TIMEOUT_MS } from "../server/shutdown.js";
import { type ProvisionedTenant, provisionTenant } from "../tenancy/provision.js";
import { writeFirstSecret } from "./first-key.js";
import type { CommandInput } from "./operator-command.js";
import { welcome, welcomeWithFile } from "./welcome.js";

export async function serveCommand({ config, say }: CommandInput): Promise<void> {
  if (config.processes > 1) {
    const { default: cluster } = await import("node:cluster");
    if (cluster.isWorker) return (await import("../processes/worker.js")).serveAsWorker(config);
  }
  // Registered first: a process that a signal kills leaves its database running.
  const signal = signalled();
  const stopping = new AbortController();
  let waitingFor: RunningServer["waitingFor"] = () => ["its start"];
  void signal.then(() => {
    stopping.abort();
    exitIn(SHUTDOWN_TIMEOUT_MS, () => {
      say(`Exiting after ${SHUTDOWN_TIMEOUT_MS / 1_000} s; still waiting for: ${waitingFor().join(", ")}.`);
      process.exitCode = 1;
    });
  });
  const start =
    config.processes > 1
      ? (await import("../processes/primary.js")).startProcesses
      : (await import("../server/start-server.js")).startServer;
  const server = await start(config, { announce: say, whileStarting: stopping.signal }).catch((error: unknown) => {
    if (error instanceof StoppedAtStart) return undefined;
    throw error;
  });
  if (!server) return;
  ({ waitingFor } = server);
  try {
    const isNew = server.vault.isEmpty && server.vault.embedded;
    const introduced = isNew ? introduce(server, config.dataDir, say) : Promise.resolve();
    // A database that ends meanwhile is the cause of what the introduction then fails with.
    const reason = await Promise.race([server.failed, introduced.then(() => signal)]);
    if (reason) {
      say(reason);
      process.exitCode = 1;
    } else {
      say("Stopping: requests in progress may finish.");
    }
  } finally {
    await server.stop();
    exitIn(LINGER_MS);
  }
}

/** Creates the first tenant of a new vault, and shows how to begin. */
async function introduce({ url, vault }: RunningServer, dataDir: string, say: (line: string) => void): Promise<void> {
  const tenant = { name: "First tenant", ownerEmail: "owner@localhost" };
  const provision = () => provisionTenant(vault, tenant);
  const ownerLink = async ({ tenantId, memberId }: ProvisionedTenant) => {
    const link = await createOperatorLink(vault, tenantId, memberId);
    return new Sensitive(`${addressForPeople(url)}${SIGN_IN_PATH}#${link.reveal()}`);
  };
  /** Not awaited: the server runs by now, and its database may be gone. */
  const record = ({ tenantId }: ProvisionedTenant) =>
    void recordTenantEvent(vault, "create", tenantId, { remark: "by the first start", isByServer: true }).catch(() =>
      say("The creation of the first tenant could not be recorded in the vault's own log."),
    );
  // A service's standard error is a log that many people can read.
  if (process.stderr.isTTY) {
    const first = await provision();
    say(welcome(url, first.managementKey.reveal(), (await ownerLink(first)).reveal()));
    return record(first);
  }
  const provisioned = Promise.withResolvers<ProvisionedTenant>();
  const keyFile = await writeFirstSecret(dataDir, "first-management-key", async () => {
    const first = await provision();
    provisioned.resolve(first);
    return first.managementKey;
  });
  const linkFile = await writeFirstSecret(dataDir, "first-sign-in-link", async () =>
    ownerLink(await provisioned.promise),
  );
  say(welcomeWithFile(url, keyFile, linkFile));
  record(await provisioned.promise);
}

/** Time that open handles may keep the process alive after its stop, such as a socket of a database that is gone. */
const LINGER_MS = 200;

/** Ends the process if anything keeps it alive for `ms` milliseconds. */
function exitIn(ms: number, onExit?: () => void): void {
  setTimeout(() => {
    onExit?.();
    process.exit();
  }, ms).unref();
}

/** Resolves at the first signal to stop. A second signal ends the process at once. */
function signalled(): Promise<undefined> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        resolve(undefined);
        process.once(signal, () => process.exit(130));
      });
    }
  });
}
