import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, it } from "vitest";
import { TokenizeResponseSchema } from "../../gen/cloakroom/v1/tokens_pb.js";
import type { Json } from "../../src/base/json.js";
import { tokensForFrame } from "../../src/services/frame-tokens.js";
import { replayTokenize } from "../../src/services/replay-tokens.js";
import { toJson, toValue } from "../../src/services/value.js";

const NUMBER = "4242424242424242";
const SHOWN = { id: "an-id", type: "card", containers: ["/pci/high/"] };
const TOKEN = {
  ...SHOWN,
  data: { number: NUMBER },
  mask: NUMBER,
  fingerprint: NUMBER,
  _extras: { deduplicated: false },
};

/** Responses with tokens at any place, and what a frame sees of each. */
const { response } = fc.letrec<{ response: { whole: Json; shown: Json } }>((tie) => ({
  response: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constant({ whole: TOKEN, shown: SHOWN }),
    fc.constant({ whole: "another-id", shown: "another-id" }),
    fc.array(tie("response"), { maxLength: 3 }).map((all) => ({
      whole: all.map(({ whole }) => whole),
      shown: all.map(({ shown }) => shown),
    })),
    fc.dictionary(fc.constantFrom("a", "b"), tie("response"), { maxKeys: 2 }).map((all) => ({
      whole: Object.fromEntries(Object.entries(all).map(([name, { whole }]) => [name, whole])),
      shown: Object.fromEntries(Object.entries(all).map(([name, { shown }]) => [name, shown])),
    })),
  ),
}));

it("has nothing of the values in what a frame gets, or in what is kept for a repeat, also unseen", () => {
  fc.assert(
    fc.property(response, ({ whole, shown }) => {
      const made = create(TokenizeResponseSchema, { value: toValue(whole) });
      const { value } = tokensForFrame(made);
      expect(value && toJson(value, "value")).toEqual(shown);
      const kept = replayTokenize(undefined).keep(made);
      expect([value, kept].map((each) => JSON.stringify(each)).join()).not.toContain(NUMBER);
    }),
  );
});
