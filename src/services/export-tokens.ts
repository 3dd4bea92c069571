import { TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import { prepareExporter } from "../tokens/export.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { type ServedStream, serveStream } from "./served-stream.js";
import { showAll } from "./token-lists.js";

/** Tokens that are read in one transaction, whose begin and end cost as much as reading 20 of them. */
const PAGE_TOKENS = 500;
/** Tokens of one message, which is written in one step. */
const MESSAGE_TOKENS = 100;

/**
 * All tokens that match, a page at a time: the next one is read when the caller has taken the one before. A caller that
 * takes its time gets the rest of a page read again, by pages of a message from then on.
 */
export function exportingTokens(bins: BinTable | undefined): ServedStream {
  return serveStream(TokenService.method.exportTokens, async function* ({ start, ...fields }, call) {
    let size = PAGE_TOKENS;
    for (let after = start; !call.signal.aborted; ) {
      const { query, page } = await call.read(async (tx) => {
        // The rights and keys of now: both may have changed since the last page.
        const exporter = prepareExporter(tx.caller, tx.keys, fields, call.signal);
        return { query: exporter.query, page: await exporter.page(after, size)(tx) };
      });
      const { items, next } = page;
      let from = 0;
      do {
        const part = items.slice(from, from + MESSAGE_TOKENS);
        const last = part.at(-1);
        from += MESSAGE_TOKENS;
        after = last && from < items.length ? page.after(last) : next;
        yield { data: await showAll(query, part, bins), ...(after === undefined ? {} : { cursor: after }) };
      } while (from < items.length && !call.isStale && !call.signal.aborted);
      if (after === undefined) return;
      if (from < items.length) size = MESSAGE_TOKENS;
    }
  });
}
