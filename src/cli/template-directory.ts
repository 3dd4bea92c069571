import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "./usage-error.js";

/** Written by `@cloakroom/client/testing` into a data directory that it prepares, and removed from each copy. */
const MARK = "template";

/** @throws {UsageError} for a prepared data directory: what a command changes there would be in every copy. */
export function refuseTemplate(dataDir: string): void {
  if (!existsSync(join(dataDir, MARK))) return;
  throw new UsageError(
    `CLOAKROOM_DATA_DIR is a directory that tests copy: ${dataDir}. Name another directory, or use a copy without the file ${MARK}.`,
  );
}
