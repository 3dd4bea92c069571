import { describe, expect, test } from "vitest";
import { bookShop, refusal, result } from "../outcome.js";

describe("json", () => {
  test.each([
    ["{{ data.bicycle.color }}", "red"],
    ["{{ data | json: '$.bicycle.color' }}", "red"],
    ["{{ data | json: '$.bicycle.price' }}", 19.95],
    ["{{ data.bicycle }}", { color: "red", price: 19.95 }],
    ["{{ data | json: '$.books[0].author' }}", "Herman Melville"],
    ["{{ data | json: '$.books[?(@.price < 10)].title' }}", "Moby Dick"],
    ["{{ data.nonexistent }}", null],
    ["{{ data | json: '$.nonexistent.deeper' }}", null],
    ["{{ data | json: '$' | json: '$.bicycle.color' }}", "red"],
    ["{{ data | json: \"$['bicycle']['color']\" }}", "red"],
    ["{{ data | json: '$.books[-1].title' }}", "The Lord of the Rings"],
    ["{{ data | json: '$..color' }}", "red"],
    ["{{ data | json: '$.bicycle.color' | upcase }}", "RED"],
    ["{{ data.missing | json: '$.x' }}", null],
    ["{{ data | json: '$.book..author' }}", null],
    ["{{ data | json: '$.books[?(@.price > 99)]' }}", null],
  ])("%s", (expression, expected) => {
    expect(result(expression, bookShop)).toEqual(expected);
  });

  test.each([
    ["{{ data | json: '$.books..author' }}", "leads to several values"],
    ["{{ data | json: '$.books[*].title' }}", "leads to several values"],
    ["{{ data | json }}", "json needs a text as json_path_expression"],
    ["{{ data | json: 'bicycle.color' }}", "needs a JSON path that starts with $"],
    ["{{ data | json: '$.books[(@.length-1)]' }}", "needs a JSON path that starts with $"],
  ])("%s is rejected", (expression, reason) => {
    expect(refusal(expression, bookShop)).toContain(reason);
  });

  test("accepts names with hyphens", () => {
    expect(result("{{ data | json: '$.customer-id' }}", { "customer-id": 7 })).toBe(7);
  });
});

describe.each(["stringify", "json_stringify"])("%s", (filter) => {
  const shop = { ...bookShop, bicycles: [bookShop.bicycle, { color: "blue", price: 24.95 }] };

  test.each([
    [`{{ data.books[0].price | ${filter} }}`, "8.99"],
    [`{{ data.books[1].title | ${filter} }}`, "The Lord of the Rings"],
    [`{{ data.bicycles[0] | ${filter} }}`, '{"color":"red","price":19.95}'],
    [`{{ data.bicycles | ${filter} }}`, '[{"color":"red","price":19.95},{"color":"blue","price":24.95}]'],
    [`{{ data.missing | ${filter} }}`, null],
    [`{{ true | ${filter} }}`, "true"],
  ])("%s", (expression, expected) => {
    expect(result(expression, shop)).toBe(expected);
  });
});
