import { RevealService } from "../../gen/cloakroom/v1/reveals_pb.js";
import { type ReadOfAtMost, readBySize } from "../tokens/large-reads.js";
import { readForReveal, showRevealed } from "../tokens/reveal.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { type ServedMethod, serve } from "./call.js";
import { showToken } from "./show-token.js";

export function revealService({ bins }: { readonly bins: BinTable | undefined }): ServedMethod[] {
  return [
    serve(RevealService.method.revealToken, async ({ id }, call) => {
      const read: ReadOfAtMost = (maxBytes) => call.commit((tx) => readForReveal(tx, { id, maxBytes }));
      const found = await readBySize({ small: read, large: read, count: (work) => call.commit(work) });
      return showToken(showRevealed(call.caller, call.keys, found, { bins }));
    }),
  ];
}
