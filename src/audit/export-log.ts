import type { TenantId } from "../base/ids.js";
import type { EndRow, RawLogRow, SealRow } from "../store/audit-seals.js";
import { MINUTE_MS } from "../store/due.js";
import type { LogSnapshot } from "../store/log-snapshot.js";
import { RowFeed } from "./row-feed.js";

/**
 * A tenant's log as lines of JSON: its rows, oldest first, after those of each minute the minute's seal, and last the end of
 * the chain. A row has what its digest covers, in the order in which it does. Seals come in the order of the chain: where the
 * log's time was set back, rows come before the first seal of a later time.
 */
export async function* exportLog(
  snapshot: LogSnapshot,
  tenantId: TenantId,
  onProgress: (rows: number) => void,
): AsyncGenerator<string> {
  let done = 0;
  const feed = new RowFeed(snapshot.rows("all"), (count) => {
    done += count;
    onProgress(done);
  });
  for await (const page of snapshot.seals()) {
    for (const seal of page) {
      if (seal.kind === "minute") {
        yield* rowLines(feed, tenantId, new Date(seal.window_start.getTime() + MINUTE_MS));
      }
      yield line(sealLine(tenantId, seal));
    }
  }
  // What is not sealed yet: two minutes at most, where the server runs.
  yield* rowLines(feed, tenantId, undefined);
  if (snapshot.end) yield line(endLine(tenantId, snapshot.end));
}

async function* rowLines(feed: RowFeed, tenantId: TenantId, until: Date | undefined): AsyncGenerator<string> {
  for await (const rows of feed.pieces(until)) yield rows.map((row) => line(rowLine(tenantId, row))).join("");
}

function rowLine(tenant_id: TenantId, { micros, set_aside, ...row }: RawLogRow) {
  return {
    kind: "row",
    tenant_id,
    created_at: new Date(Math.floor(Number(micros) / 1_000)).toISOString(),
    micros,
    ...row,
    // The number of the entry that set the row's minute aside: its earlier seal covers it, and not the later.
    ...(set_aside === null ? {} : { set_aside }),
  };
}

/** A seal of a minute, or an entry of another kind: where the log's time was set back, or an operator had the chain go on. */
function sealLine(tenant_id: TenantId, { kind, subject: _, digest, previous, mac, ...seal }: SealRow) {
  const hex = { digest: digest.toString("hex"), previous: previous.toString("hex"), mac: mac.toString("hex") };
  return { kind: kind === "minute" ? "seal" : kind, tenant_id, ...seal, ...hex };
}

function endLine(tenant_id: TenantId, { last_mac, mac, attested_mac, ...end }: EndRow) {
  const hex = { last_mac: last_mac.toString("hex"), mac: mac.toString("hex") };
  return { kind: "end", tenant_id, ...end, ...hex, attested_mac: attested_mac?.toString("hex") ?? null };
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
