import { readFile } from "node:fs/promises";
import type { Json } from "../base/json.js";
import { BinTable } from "../tokens/types/bin-table.js";
import { ConfigError } from "./environment.js";

/**
 * Reads what the operator knows of card issuers, where that is configured.
 * @throws {ConfigError} where the file cannot be read, or is no BIN table.
 */
export async function readBinTable(file: string | undefined): Promise<BinTable | undefined> {
  if (file === undefined) return undefined;
  const text = await readFile(file, "utf8").catch(() => {
    throw new ConfigError(`CLOAKROOM_BIN_TABLE_FILE names a file that cannot be read: ${file}`);
  });
  try {
    return new BinTable(parse(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message : "It cannot be read.";
    throw new ConfigError(`CLOAKROOM_BIN_TABLE_FILE names a file that is no BIN table: ${file}. ${reason}`);
  }
}

/** What JSON.parse says of a mistake repeats parts of the file. */
function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("It must be JSON.");
  }
}
