import { TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import { prepareExporter } from "../tokens/export.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { type ServedStream, serveStream } from "./served-stream.js";
import { showAll } from "./token-lists.js";

/** Tokens that are read in one transaction, whose begin and end cost as much as reading 20 of them. */
const PAGE_TOKENS = 500;
/** Tokens of one message, which is written in one step. */
const MESSAGE_TOKENS = 100;

/** All tokens that match, a page at a time: the next one is read when the caller has taken the one before. */
export function exportingTokens(bins: BinTable | undefined): ServedStream {
  return serveStream(TokenService.method.exportTokens, async function* ({ start, ...fields }, call) {
    for (let after = start; !call.signal.aborted; ) {
      const { query, page } = await call.read(async (tx) => {
        // The rights and keys of now: both may have changed since the last page.
        const exporter = prepareExporter(tx.caller, tx.keys, fields);
        return { query: exporter.query, page: await exporter.page(after, PAGE_TOKENS)(tx) };
      });
      const { items, next } = page;
      for (let from = 0; from === 0 || from < items.length; from += MESSAGE_TOKENS) {
        const part = items.slice(from, from + MESSAGE_TOKENS);
        const last = part.at(-1);
        const cursor = last && from + MESSAGE_TOKENS < items.length ? page.after(last) : next;
        yield { data: await showAll(query, part, bins), ...(cursor === undefined ? {} : { cursor }) };
      }
      if (next === undefined) return;
      after = next;
    }
  });
}
