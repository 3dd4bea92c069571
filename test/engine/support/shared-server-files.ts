import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A file that contains one of these starts server processes or databases, or reads the embedded database or the log of
 * the run.
 */
const BEYOND_THE_API =
  /startServerProcess|startReplica|PostgresCluster|startDatabase|copyMigratedData|CLOAKROOM_DATA_DIR|"serverLog"|support\/(stored|log-line)/;
/** A file that contains one of these calls the server of the whole run, perhaps beside others in its own process. */
const SHARED_SERVER = /newTenant\(\)|inject\("serverUrl"\)/;

/** Starts servers on the directory of the embedded database. */
const ON_ITS_DIRECTORY = "test/e2e/vault/cli.test.ts";

/**
 * The end-to-end tests that use nothing but the API of the run's server, whatever its database.
 * @param root the folder that contains `test`.
 */
export function sharedServerFiles(root: string): readonly string[] {
  return readdirSync(join(root, "test/e2e"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => join("test/e2e", path))
    .filter((path) => {
      if (path === ON_ITS_DIRECTORY) return false;
      const source = readFileSync(join(root, path), "utf8");
      return SHARED_SERVER.test(source) && !BEYOND_THE_API.test(source);
    });
}
