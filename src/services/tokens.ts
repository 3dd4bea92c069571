import { TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import type { Clock } from "../base/clock.js";
import { isLarge, yieldToEventLoop } from "../base/yield-to-event-loop.js";
import type { Keyring } from "../tenancy/keyring.js";
import { createToken } from "../tokens/create.js";
import { deleteToken } from "../tokens/delete.js";
import { readBySize } from "../tokens/large-reads.js";
import { prepareLargeToken, prepareToken } from "../tokens/prepare.js";
import { openReadable, readToken } from "../tokens/read.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { updateToken } from "../tokens/update.js";
import { withoutCvc } from "../tokens/view.js";
import { type ServedMethod, serve } from "./call.js";
import { replayToken } from "./replay-tokens.js";
import { showToken } from "./show-token.js";
import { tokenLists } from "./token-lists.js";
import { draftOf, patchOf } from "./token-requests.js";

export interface TokenServiceParts {
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly bins: BinTable | undefined;
  /** Size limit of a request in bytes. */
  readonly bodyLimit: number;
}

export function tokenService({ keyring, clock, bins, bodyLimit }: TokenServiceParts): ServedMethod[] {
  const { method } = TokenService;
  return [
    ...tokenLists(keyring, bins),
    serve(
      method.createToken,
      async (request, call) => {
        const keys = await keyring.of(call.caller.tenantId);
        const draft = draftOf(request);
        const now = new Date(clock.now());
        const { bodyBytes } = call.memory;
        const prepared = isLarge(bodyBytes)
          ? await prepareLargeToken(call.caller, keys, draft, now, bodyBytes)
          : prepareToken(call.caller, keys, draft, now);
        return call.transactShared(
          async (tx) => createToken(tx, call.caller, keys, prepared, { bins }),
          showToken,
          (view) => showToken(withoutCvc(view)),
        );
      },
      {
        headersOf: ({ id }) => [["location", `/tokens/${encodeURIComponent(id)}`]],
        replay: replayToken("token:create", bins),
      },
    ),
    readingToken({ keyring, bins }),
    serve(
      method.updateToken,
      async (request, call) => {
        const keys = await keyring.of(call.caller.tenantId);
        const patch = patchOf(request);
        const sizes = { bodyBytes: call.memory.bodyBytes, maxBytes: bodyLimit };
        return call.transact(
          (tx) => updateToken(tx, call.caller, keys, request.id, patch, sizes, { bins }),
          showToken,
          (view) => showToken(withoutCvc(view)),
        );
      },
      { replay: replayToken("token:update", bins) },
    ),
    serve(method.deleteToken, async ({ id }, call) => {
      const keys = await keyring.of(call.caller.tenantId);
      return call.transact(
        (tx) => deleteToken(tx, call.caller, keys, id),
        () => ({}),
      );
    }),
  ];
}

function readingToken({ keyring, bins }: Pick<TokenServiceParts, "keyring" | "bins">) {
  return serve(TokenService.method.getToken, async ({ id }, call) => {
    const keys = await keyring.of(call.caller.tenantId);
    const found = await readBySize({
      small: (maxBytes) => call.commitShared((tx) => readToken(tx, call.caller, { id, maxBytes })),
      large: (maxBytes) => call.commit((tx) => readToken(tx, call.caller, { id, maxBytes })),
      count: (work) => call.commitShared(work),
    });
    const view = await openReadable(call.caller, keys, found, { bins });
    const shown = showToken(view);
    await yieldToEventLoop(found.row.data.length);
    return shown;
  });
}
