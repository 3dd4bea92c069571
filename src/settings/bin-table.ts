import { readFile } from "node:fs/promises";
import type { Json } from "../base/json.js";
import { BinTable } from "../tokens/types/bin-table.js";
import { ConfigError } from "./config-error.js";

/** @throws {ConfigError} if the file cannot be read, or is not a BIN table. */
export async function readBinTable(file: string | undefined): Promise<BinTable | undefined> {
  if (file === undefined) return undefined;
  const text = await readFile(file, "utf8").catch(() => {
    throw new ConfigError(`CLOAKROOM_BIN_TABLE_FILE names a file that cannot be read: ${file}`);
  });
  try {
    return new BinTable(parse(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message : "It cannot be read.";
    throw new ConfigError(`CLOAKROOM_BIN_TABLE_FILE names a file that is not a BIN table: ${file}. ${reason}`);
  }
}

/** JSON.parse's messages repeat parts of the file. */
function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("It must be JSON.");
  }
}
