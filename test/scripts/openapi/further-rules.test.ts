import { describe, expect, it } from "vitest";
import { FURTHER_RULES, MESSAGE_RULES, NEVER_CLEARED } from "../../../scripts/openapi/further-rules.js";
import { methods } from "../../support/methods.js";

describe("the rules beyond those of the protos", () => {
  const inputs = methods.map(({ input }) => input);
  const within = inputs.flatMap((input) => input.fields.flatMap(({ message }) => (message ? [message] : [])));
  const known = new Map(
    [...inputs, ...within].map((message) => [message.name, message.fields.map(({ name }) => name)]),
  );

  it.each([...FURTHER_RULES.keys(), ...NEVER_CLEARED])("name a field that requests have: %s", (place) => {
    const [message = "", field = ""] = place.split(".");
    expect(known.get(message)).toContain(field);
  });

  it.each([...MESSAGE_RULES.keys()])("name a message that requests have: %s", (message) => {
    expect([...known.keys()]).toContain(message);
  });
});
