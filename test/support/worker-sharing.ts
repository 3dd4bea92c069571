import { readFileSync } from "node:fs";
import { join } from "node:path";
import { testFiles } from "./requirements.js";

/** A file that contains one of these starts a server, a database, a sandbox or a browser, or closes what files share. */
const HOLDS_RESOURCES =
  /startServer|startReplica|PostgresCluster|startDatabase|copyMigratedData|CLOAKROOM_DATA_DIR|"serverLog"|support\/(stored|log-line|ledger)|cloakroom\(|openVault|Sandbox|launchBrowser|openPl|agents\.close|Payer/;

/** A file that contains one of these changes, or observes, what all code of a process shares. */
const USES_THE_PROCESS =
  /vi\.(mock|doMock|stub\w*|useFakeTimers|spyOn|resetModules)|process\.env\.\w+ = |delete process\.env|process\.(chdir|on|once)\(|globalThis\.\w+ =|\.prototype\.\w+ =|setGlobalDispatcher|memoryUsage|new Worker\(|captureStackTrace|warning/;

/**
 * The test files that run after one another in one process: those that only call functions, or the API of the run's
 * server. A process of its own costs each file 0.2 s of processor time and more, because it loads all modules again.
 * @param root the folder that contains `test`.
 */
export function filesThatShareWorkers(root: string): readonly string[] {
  return testFiles(root).filter((path) => {
    const source = readFileSync(join(root, path), "utf8");
    return !HOLDS_RESOURCES.test(source) && !USES_THE_PROCESS.test(source);
  });
}
