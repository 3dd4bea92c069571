import type { Uuid } from "../base/ids.js";
import { namesOfProxies, type ProxyRow, readProxy } from "../store/functions/proxies.js";
import { namesOfReactors, type ReactorRow, readReactor } from "../store/functions/reactors.js";
import { NAMES_PER_BATCH, type NamedRow } from "../store/statements/named-listing.js";
import type { Transaction } from "../store/transactions/transaction.js";

/** Definitions read at once: each can have the code of several transforms. */
const READ_AT_ONCE = 20;

export function eachProxy(tx: Transaction): AsyncGenerator<ProxyRow> {
  return eachRow(
    (after) => tx.query(namesOfProxies, { ids: [], after }),
    (id) => tx.query(readProxy, id),
  );
}

export function eachReactor(tx: Transaction): AsyncGenerator<ReactorRow> {
  return eachRow(
    (after) => tx.query(namesOfReactors, { ids: [], after }),
    (id) => tx.query(readReactor, id),
  );
}

async function* eachRow<Row>(
  list: (after: NamedRow | undefined) => Promise<readonly NamedRow[]>,
  read: (id: Uuid) => Promise<Row | null>,
): AsyncGenerator<Row> {
  let after: NamedRow | undefined;
  do {
    const batch = await list(after);
    for (let first = 0; first < batch.length; first += READ_AT_ONCE) {
      const rows = await Promise.all(batch.slice(first, first + READ_AT_ONCE).map(({ id }) => read(id)));
      for (const row of rows) if (row) yield row;
    }
    after = batch.length < NAMES_PER_BATCH ? undefined : batch.at(-1);
  } while (after);
}
