import { MINUTE_MS } from "../base/clock.js";
import type { TenantId } from "../base/ids.js";
import type { HeadRow, SealRow } from "../store/audit/audit-seals.js";
import type { LogSnapshot } from "../store/audit/log-snapshot.js";
import type { RawLogRow } from "../store/audit/raw-log.js";
import { RowFeed } from "./row-feed.js";

/**
 * Writes a tenant's log as lines of JSON: its rows, oldest first, each minute followed by its seal, and last the end of
 * the chain. A row has the fields of its digest, in the same order. Seals follow the order of the chain: if the log's
 * time was set back, rows precede the first seal of a later time.
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
  // Rows that are not sealed yet: at most two minutes' worth while a server runs.
  yield* rowLines(feed, tenantId, undefined);
  if (snapshot.head) yield line(endLine(tenantId, snapshot.head));
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
    // The entry that set the row's minute aside: the earlier seal of the minute covers the row, not the later.
    ...(set_aside === null ? {} : { set_aside }),
  };
}

/** A seal of a minute, or another entry: the log's time was set back, or an operator restarted the chain. */
function sealLine(tenant_id: TenantId, seal: SealRow) {
  const { kind, digest, previous, mac, window_start, number, row_count, key_version, sealed_at } = seal;
  const { version, digest_version } = seal;
  const hex = { digest: digest.toString("hex"), previous: previous.toString("hex"), mac: mac.toString("hex") };
  const own = { version, digest_version, window_start, number, row_count, key_version, sealed_at };
  return { kind: kind === "minute" ? "seal" : kind, tenant_id, ...own, ...hex };
}

function endLine(tenant_id: TenantId, { last_mac, mac, attested_mac, ...end }: HeadRow) {
  const hex = { last_mac: last_mac.toString("hex"), mac: mac.toString("hex") };
  return { kind: "end", tenant_id, ...end, ...hex, attested_mac: attested_mac?.toString("hex") ?? null };
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
