import { TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import { prepareExporter } from "../tokens/export.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { type ServedStream, serveStream } from "./served-stream.js";
import { showAll } from "./token-lists.js";

/** Tokens of one message, which are read in one transaction. */
const MESSAGE_TOKENS = 100;

/** All tokens that match, a page at a time: the next one is read when the caller has taken the one before. */
export function exportingTokens(bins: BinTable | undefined): ServedStream {
  return serveStream(TokenService.method.exportTokens, async function* ({ start, ...fields }, call) {
    for (let after = start; !call.signal.aborted; ) {
      const { query, items, next } = await call.read(async (tx) => {
        // The rights and keys of now: both may have changed since the last page.
        const exporter = prepareExporter(tx.caller, tx.keys, fields);
        return { query: exporter.query, ...(await exporter.page(after, MESSAGE_TOKENS)(tx)) };
      });
      yield { data: await showAll(query, items, bins), ...(next === undefined ? {} : { cursor: next }) };
      if (next === undefined) return;
      after = next;
    }
  });
}
