import { expect, test } from "vitest";
import { evaluateSearchIndexes } from "../../src/expressions/search-indexes.js";
import { faultFields } from "./faults.js";

const record = {
  card: {
    card_number: "4000056655665556",
    exp_month: 4,
    exp_year: 2026,
    owner: { first_name: "John", middle_name: "Andrew", last_name: "Smith" },
  },
  billing_address: { street_address: "175 5th Ave", city: "New York", state: "NY", zip: "10010" },
};

test.each([
  [
    ["{{ data }}", "{{ data | last4 }}", "{{ data | remove: '-' }}"],
    "111-22-3333",
    ["111-22-3333", "3333", "111223333"],
  ],
  [
    ["{{ data.card.card_number }}", "{{ data.card.owner.last_name }}", "{{ data.billing_address.zip }}"],
    record,
    ["4000056655665556", "Smith", "10010"],
  ],
  [
    [
      "{{ data.card.card_number | last4 }}",
      "{{ data.card.owner.last_name | upcase }}",
      "{{ data.card.owner.first_name | upcase }} {{ data.card.owner.last_name | upcase }}",
      "{{ data.billing_address.zip | slice: 0, 5 }}",
    ],
    record,
    ["5556", "SMITH", "JOHN SMITH", "10010"],
  ],
  [["{{ data.card.exp_month }}"], record, ["4"]],
  [["{{ data }}", "{{ data | remove: '-' }}"], "123456789", ["123456789"]],
  [[], record, []],
])("%j", (expressions, data, expected) => {
  expect(evaluateSearchIndexes(expressions, data)).toEqual(expected);
});

test.each([
  ["{{ data.missing }}", "not to null"],
  ["{{ data.card }}", "not to an object or a list"],
  ["{{ data.card.card_number | remove: data.card.card_number }}", "not empty"],
  ["a{% raw %}", "tags"],
  ["{{ data | json: '$..first_name' | nope }}", "no filter nope"],
])("%s is a fault on its position", (expression, message) => {
  const fields = faultFields(() => evaluateSearchIndexes(["{{ data.card.exp_year }}", expression], record));
  expect(fields).toEqual({ "search_indexes[1]": [expect.stringContaining(message)] });
});
