import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Fields of inputs and responses whose declaration follows no comment: an editor has nothing to show for them. */
function fieldsWithoutText(declarations: string): { fields: number; bare: readonly string[] } {
  const bare: string[] = [];
  let type = "";
  let fields = 0;
  let before = "";
  for (const line of declarations.split("\n")) {
    type = /^export interface (\w+)/.exec(line)?.[1] ?? type;
    const field = /^ {2}readonly (\w+)\??:/.exec(line)?.[1];
    if (field !== undefined) {
      fields += 1;
      if (!before.endsWith("*/")) bare.push(`${type}.${field}`);
    }
    before = line;
  }
  return { fields, bare };
}

it("shows a text for every field of every input and response in an editor", () => {
  const { fields, bare } = fieldsWithoutText(readFileSync("clients/typescript/src/generated/messages.ts", "utf8"));
  expect(fields).toBeGreaterThan(700);
  expect(bare, "write a comment above the field in its proto, then: npm run generate").toEqual([]);
});
