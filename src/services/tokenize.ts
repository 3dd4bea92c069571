import { TokenizeService } from "../../gen/cloakroom/v1/tokens_pb.js";
import type { Clock } from "../base/clock.js";
import { invalid } from "../base/fault.js";
import { yieldToEventLoop } from "../base/yield-to-event-loop.js";
import { detokenize, findTokens, openTokens, referencedTokens } from "../tokens/detokenize.js";
import { createTokens, maskAllAhead, planTokenize, sealAllAhead } from "../tokens/tokenize.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { viewToJson, withoutCvc } from "../tokens/view.js";
import { type ServedMethod, serve } from "./call.js";
import { tokensForFrame } from "./frame-tokens.js";
import { replayTokenize } from "./replay-tokens.js";
import { toJson, toValue } from "./value.js";

export interface TokenizeServiceParts {
  readonly clock: Clock;
  readonly bins: BinTable | undefined;
}

export function tokenizeService({ clock, bins }: TokenizeServiceParts): ServedMethod[] {
  const { method } = TokenizeService;
  return [
    serve(
      method.tokenize,
      async ({ value }, call) => {
        if (!value) throw invalid("value", "must be given");
        const now = new Date(clock.now());
        const body = toJson(value, "value");
        const bytes = call.memory.bodyBytes;
        await yieldToEventLoop(bytes);
        const plan = planTokenize({ caller: call.caller, keys: call.keys, now }, body);
        await yieldToEventLoop(bytes);
        const hasOwnMask = plan.items.some(({ prepared }) => prepared.attributes.mask !== undefined);
        const shown = hasOwnMask ? await maskAllAhead(plan.items) : plan.items;
        const items = await sealAllAhead(call.keys, shown, bytes);
        return call.transactShared(
          async (tx) => createTokens(tx, items, bins),
          (views) => ({ value: toValue(plan.assemble(views, viewToJson)) }),
          (views) => ({ value: toValue(plan.assemble(views, (view) => viewToJson(withoutCvc(view)))) }),
        );
      },
      { replay: replayTokenize(bins), shownToFrame: tokensForFrame },
    ),
    serve(method.detokenize, async ({ value }, call) => {
      if (!value) throw invalid("value", "must be given");
      const body = toJson(value, "value");
      const bytes = call.memory.bodyBytes;
      await yieldToEventLoop(bytes);
      const ids = referencedTokens(body, "value");
      await yieldToEventLoop(bytes);
      const tokens = await call.commitShared((tx) => findTokens(tx, ids, "read"));
      const lookup = await openTokens(call.keys, tokens, bins);
      // Without a reference, the response is the request.
      if (ids.length === 0) return { value };
      const resolved = detokenize(body, "value", lookup);
      await yieldToEventLoop(call.memory.bodyBytes);
      const shown = toValue(resolved);
      await yieldToEventLoop(call.memory.bodyBytes);
      return { value: shown };
    }),
  ];
}
