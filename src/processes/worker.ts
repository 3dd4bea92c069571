import cluster from "node:cluster";
import { once } from "node:events";
import { LocalRootKey } from "../crypto/local-root-key.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { CodeSource } from "../sandbox/run.js";
import type { SharedRunnerAccess } from "../sandbox/shared-runner.js";
import type { ServingProcess } from "../server/running-server.js";
import { SHUTDOWN_TIMEOUT_MS } from "../server/shutdown.js";
import { startServer } from "../server/start-server.js";
import type { Config } from "../settings/config.js";
import type { FromProcess, StartMessage, ToProcess } from "./messages.js";
import { PrimaryCounters } from "./primary-counters.js";
import { PrimarySignInLimits } from "./primary-sign-in-limits.js";

/** How long a process may continue its start after a request to stop, in milliseconds. */
const START_ENDS_MS = 5_000;

type Server = Awaited<ReturnType<typeof startServer>>;

/**
 * Serves as one of several processes until the primary process or a SIGTERM stops it. When the primary ends, so does
 * this process, at once: node:cluster exits when its channel closes.
 */
export async function serveAsWorker(config: Config): Promise<void> {
  const begun = Promise.withResolvers<StartMessage>();
  const stopped = Promise.withResolvers<undefined>();
  const stop = () => stopped.resolve(undefined);
  // A ^C, and the end of a terminal, reach all its processes, and the primary decides how to react.
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  process.on("SIGTERM", stop);
  let server: Server | undefined;
  let countFailure: (source: CodeSource) => void = () => {};
  const counters = new PrimaryCounters((batch, counts) => send({ type: "counts", batch, counts }));
  const signInLimits = new PrimarySignInLimits((number, attempt) => send({ type: "attempt", number, attempt }));
  cluster.worker?.on("message", (message: ToProcess) => {
    if (message.type === "begin") begun.resolve(message);
    else if (message.type === "stop") stop();
    else if (message.type === "ping") send({ type: "pong" });
    else if (message.type === "verdicts") counters.take(message);
    else if (message.type === "attempt_counted") signInLimits.take(message);
    else if (message.type === "code_failure") countFailure(message.source);
    else void server?.registry.getMetricsAsJSON().then((metrics) => send({ type: "metrics", metrics }));
  });
  send({ type: "hello" });
  const beginning = await Promise.race([begun.promise, stopped.promise]);
  if (!beginning) process.exit();
  void stopped.promise.then(() => {
    setTimeout(() => server ?? process.exit(1), START_ENDS_MS).unref();
    setTimeout(() => process.exit(1), SHUTDOWN_TIMEOUT_MS).unref();
  });
  try {
    const said: string[] = [];
    const runner: SharedRunnerAccess = {
      socketPath: beginning.runnerSocket,
      kill: (reason) => send({ type: "kill_runner", reason }),
      reportFailure: (source) => send({ type: "code_failure", source }),
      onFailure: (count) => {
        countFailure = count;
      },
    };
    server = await start(config, beginning, { runner, rateLimits: counters, signInLimits }, (line) => said.push(line));
    send({ type: "ready", url: server.url, said });
    await stopped.promise;
    await server.stop();
    await leaveGroup();
    process.exit();
  } catch (error) {
    // Listening for messages must not keep a failed process alive.
    process.channel?.unref();
    throw error;
  }
}

function start(
  config: Config,
  { number, port, address, rootKeys }: StartMessage,
  shared: Pick<ServingProcess, "runner" | "rateLimits" | "signInLimits">,
  announce: (line: string) => void,
): Promise<Server> {
  const keys = rootKeys.map(({ id, base64 }) => new LocalRootKey(id, new Sensitive(Buffer.from(base64, "base64"))));
  const part = { number, opened: { address, rootKeys: keys }, ...shared };
  return startServer({ ...config, port }, { announce }, part);
}

/**
 * Hands connections back that the primary passed on before it knew that this process has closed its port: node:cluster
 * passes them to other processes. Resolves when the primary passes no more.
 */
async function leaveGroup(): Promise<void> {
  if (!cluster.worker?.isConnected()) return;
  const left = once(process, "disconnect");
  cluster.worker.disconnect();
  await left;
}

/** A failed send needs no handling: the primary has ended, and this process is about to. */
function send(message: FromProcess): void {
  if (cluster.worker?.isConnected()) cluster.worker.send(message, () => {});
}
