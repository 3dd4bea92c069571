import { TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import type { Clock } from "../base/clock.js";
import { yieldToEventLoop } from "../base/yield-to-event-loop.js";
import { createToken } from "../tokens/create.js";
import { deleteToken } from "../tokens/delete.js";
import { readBySize } from "../tokens/large-reads.js";
import { isLongWork, prepareInTurns, prepareToken } from "../tokens/prepare.js";
import { openReadable, opensAtOnce, readToken, showReadable } from "../tokens/read.js";
import { sealAhead, sealInTurns } from "../tokens/seal-ahead.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { updateToken } from "../tokens/update.js";
import { showingTo, withoutCvc } from "../tokens/view.js";
import { importingTokens } from "./bulk-tokens.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { tokenForFrame } from "./frame-tokens.js";
import { replayToken } from "./replay-tokens.js";
import { showToken } from "./show-token.js";
import { tokenLists } from "./token-lists.js";
import { readTokenDraft, readTokenPatch } from "./token-requests.js";

export interface TokenServiceParts {
  readonly clock: Clock;
  readonly bins: BinTable | undefined;
  /** Size limit of a request in bytes. */
  readonly bodyLimit: number;
}

export function tokenService({ clock, bins, bodyLimit }: TokenServiceParts): ServedMethod[] {
  const { method } = TokenService;
  return [
    ...tokenLists(bins),
    importingTokens(clock),
    serve(
      method.createToken,
      async (request, call) => {
        const { caller, keys } = call;
        const draft = readTokenDraft(request);
        const context = { caller, keys, now: new Date(clock.now()) };
        const { bodyBytes } = call.memory;
        const prepared = isLongWork(draft, bodyBytes)
          ? await sealInTurns(keys, await prepareInTurns(context, draft, bodyBytes), bodyBytes)
          : sealAhead(keys, prepareToken(context, draft));
        return call.transactShared(
          async (tx) => createToken(tx, prepared, showingTo(caller, bins)),
          showToken,
          (view) => showToken(withoutCvc(view)),
        );
      },
      {
        headersOf: ({ id }) => [["location", `/tokens/${encodeURIComponent(id)}`]],
        replay: replayToken("token:create", bins),
        shownToFrame: tokenForFrame,
      },
    ),
    readingToken({ bins }),
    serve(
      method.updateToken,
      async (request, call) => {
        const { bodyBytes } = call.memory;
        const received = { patch: readTokenPatch(request), bodyBytes, maxBytes: bodyLimit };
        return call.transact(
          (tx) => updateToken(tx, request.id, received, { bins }),
          showToken,
          (view) => showToken(withoutCvc(view)),
        );
      },
      { replay: replayToken("token:update", bins) },
    ),
    serve(method.deleteToken, async ({ id }, call) => call.transact((tx) => deleteToken(tx, id), showNothing)),
  ];
}

function readingToken({ bins }: Pick<TokenServiceParts, "bins">) {
  return serve(TokenService.method.getToken, async ({ id }, call) => {
    const found = await readBySize({
      small: (maxBytes) => call.commitShared((tx) => readToken(tx, { id, maxBytes })),
      large: (maxBytes) => call.commit((tx) => readToken(tx, { id, maxBytes })),
      count: (work) => call.commitShared(work),
    });
    if (opensAtOnce(found)) return showToken(showReadable(call.caller, call.keys, found, { bins }));
    const shown = showToken(await openReadable(call.caller, call.keys, found, { bins }));
    await yieldToEventLoop(found.row.data.length);
    return shown;
  });
}
