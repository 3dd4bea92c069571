import { randomBytes } from "node:crypto";
import { newUuid } from "../../base/ids.js";
import type { Sql } from "./connect.js";
import { databaseErrorCode } from "./database-error.js";

/** SQLSTATEs of a database that takes no writes: disk full, disk failure, read-only server. */
const NO_WRITES = new Set(["53100", "58030", "25006"]);

export function isDiskFull(error: unknown): boolean {
  return NO_WRITES.has(databaseErrorCode(error));
}

/** Rows that need about 200 KB of new pages in a table and its index. One small row could still fit in an old page. */
const ROWS = 128;
const NAME_BYTES = 1_100;

class TakenBack extends Error {}

/**
 * Writes and rolls back.
 * @throws the database's error if it takes no writes.
 */
export async function probeDisk(sql: Sql): Promise<void> {
  const until = new Date(0);
  const rows = Array.from({ length: ROWS }, () => ({
    name: `probe ${randomBytes(NAME_BYTES).toString("base64")}`,
    holder: newUuid(),
    until,
  }));
  try {
    await sql.begin(async (tx) => {
      await tx`insert into leases ${tx(rows)}`;
      throw new TakenBack();
    });
  } catch (error) {
    if (!(error instanceof TakenBack)) throw error;
  }
}
