import { describe, expect, it } from "vitest";
import { elementsIn, fill, shownResponse } from "../../src/web/elements/request-body.js";

const number = { $element: "n" };
const valueFor = () => "4242424242424242";

describe("a body with elements", () => {
  it("gets values where the vault tokenizes", () => {
    const body = { a: [number], token: { type: "card", data: { number, list: [1, null, true] } } };
    expect([...elementsIn(body)]).toEqual(["n"]);
    expect(fill(body, valueFor)).toEqual({
      a: ["4242424242424242"],
      token: { type: "card", data: { number: "4242424242424242", list: [1, null, true] } },
    });
  });

  it.each(["metadata", "id", "mask", "containers", "type", "search_indexes", "fingerprint_expression"])(
    "cannot put a value into %s, which responses show",
    (name) => {
      const body = { type: "token", data: "x", [name]: name === "metadata" ? { a: { b: number } } : number };
      expect(() => fill(body, valueFor)).toThrow(`body.${name} cannot hold an element`);
    },
  );

  it("cannot make an id of the value, except for an alias", () => {
    const withId = (id: string) => ({ type: "card", data: { number }, id });
    for (const id of ["{{ data.number }}", "{{ data.number | reverse }}", "{{ data | alias_card }}{{ data.number }}"]) {
      expect(() => fill(withId(id), valueFor)).toThrow("body.id may use an expression only");
    }
    expect(fill(withId("{{ data.number | alias_card }}"), valueFor)).toMatchObject({
      id: "{{ data.number | alias_card }}",
    });
    expect(fill(withId("order-1"), valueFor)).toMatchObject({ id: "order-1" });
  });

  it("cannot choose the fingerprint, by which single digits could be guessed", () => {
    for (const expression of ["{{ data.number | slice: 8, 1 }}", "{{ data.number }}", 5]) {
      const body = { type: "card", data: { number }, fingerprint_expression: expression };
      expect(() => fill(body, valueFor)).toThrow("body.fingerprint_expression cannot be chosen by a page");
    }
  });

  it("is JSON of bounded depth, and its errors name no value", () => {
    expect(() => fill({ a: undefined }, valueFor)).toThrow("body.a is not a JSON value");
    expect(() => fill({ a: Number.NaN }, valueFor)).toThrow("body.a is not a JSON value");
    let deep: unknown = 1;
    for (let depth = 0; depth < 70; depth += 1) deep = [deep];
    expect(() => fill(deep, valueFor)).toThrow("nested too deeply");
  });
});

describe("what a page gets of a response", () => {
  it("are ids, and tokens without data, mask and expressions", () => {
    const body = { a: number, b: [{ type: "card", data: { number }, mask: "{{ data.number }}" }] };
    const token = {
      ...{ id: "1", type: "card", data: "4242424242424242", mask: "{{ data.number }}", search_indexes: ["x"] },
      fingerprint: "of the number",
      ...{ metadata: { order: "7" }, card: { bin: "42424242", last4: "4242" }, unexpected: "4242424242424242" },
    };
    expect(shownResponse(body, { a: "id-1", b: [token], extra: "4242424242424242" })).toEqual({
      a: "id-1",
      b: [{ id: "1", type: "card", metadata: { order: "7" }, card: { bin: "42424242", last4: "4242" } }],
    });
  });

  it("is null when the response has a different shape", () => {
    expect(shownResponse(number, { data: "4242424242424242" })).toBeNull();
    expect(shownResponse([number], "4242424242424242")).toBeNull();
  });
});
