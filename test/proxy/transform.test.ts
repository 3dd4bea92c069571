import { describe, expect, it } from "vitest";
import { parseTransform } from "../../src/proxy/transform.js";

const mask = (expression: string) =>
  parseTransform(
    {
      ...{ type: "mask", matcher: "regex", expression, replacement: "*" },
      ...{ code: undefined, options: undefined },
    },
    "response_transform",
    true,
  );

describe("the pattern of a mask", () => {
  it.each(["(a)", "(?<name>a)", "a|(b)", "[(](x)", "\\((x)", "()"])("may be %s", (expression) => {
    expect(mask(expression)).toMatchObject({ type: "mask", matcher: { expression } });
  });

  it.each(["a", "(?:a)", "\\(a\\)", "[(a)]", "(", "a)", "a)|(b", "(a", "(?<=a)b", ""])(
    "may not be %s",
    (expression) => {
      expect(() => mask(expression)).toThrow("must be a regular expression");
    },
  );

  // Each of these would take forever even on an empty text.
  it.each(["(?:(?:(?:|a?){20}){20}){20}()(?!)", "(?:(?:(?:(?:|)*){30}){30}){30}()(?!)"])(
    "is not run to be checked: %s",
    (expression) => {
      expect(mask(expression)).toMatchObject({ type: "mask" });
    },
  );
});
