import fc from "fast-check";
import type { Json } from "../../src/base/json.js";

/** Arbitrary JSON with few names, so objects often share some. */
export const arbitraryJson: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<Json>(null, true, 0, -1.5, "", "text"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__"), tie("value"), { maxKeys: 3 }).map((object) => {
      // Generated objects have no prototype, and parsed ones have.
      const copy: Json = JSON.parse(JSON.stringify(object));
      return copy;
    }),
  ),
})).value;
