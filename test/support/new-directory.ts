import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory that every user may pass, as PostgreSQL's account has to. */
export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-store-"));
  chmodSync(directory, 0o755);
  return directory;
}
