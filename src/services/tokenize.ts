import { TokenizeService } from "../../gen/cloakroom/v1/tokens_pb.js";
import type { Clock } from "../base/clock.js";
import { invalid } from "../base/fault.js";
import type { Keyring } from "../tenancy/keyring.js";
import { detokenize, findTokens, openTokens, referencedTokens } from "../tokens/detokenize.js";
import { createTokens, planTokenize } from "../tokens/tokenize.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { viewToJson, withoutCvc } from "../tokens/view.js";
import { type ServedMethod, serve } from "./call.js";
import { replayTokenize } from "./replay-tokens.js";
import { toJson, toValue } from "./value.js";

export interface TokenizeServiceParts {
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly bins: BinTable | undefined;
}

export function tokenizeService({ keyring, clock, bins }: TokenizeServiceParts): ServedMethod[] {
  const { method } = TokenizeService;
  return [
    serve(
      method.tokenize,
      async ({ value }, call) => {
        if (!value) throw invalid("value", "must be given");
        const keys = await keyring.of(call.caller.tenantId);
        const now = new Date(clock.now());
        const plan = planTokenize(call.caller, keys, toJson(value, "value"), now);
        return call.transactShared(
          async (tx) => createTokens(tx, call.caller, keys, plan.items, bins),
          (views) => ({ value: toValue(plan.assemble(views, viewToJson)) }),
          (views) => ({ value: toValue(plan.assemble(views, (view) => viewToJson(withoutCvc(view)))) }),
        );
      },
      { replay: replayTokenize(bins) },
    ),
    serve(method.detokenize, async ({ value }, call) => {
      if (!value) throw invalid("value", "must be given");
      const keys = await keyring.of(call.caller.tenantId);
      const body = toJson(value, "value");
      const ids = referencedTokens(body, "value");
      const tokens = await call.commitShared((tx) =>
        findTokens(tx, call.caller, ids, "token:read", "read", call.memory),
      );
      const lookup = await openTokens(call.caller.tenantId, keys, tokens, bins);
      return { value: toValue(detokenize(body, "value", lookup)) };
    }),
  ];
}
