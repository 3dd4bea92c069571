import type { Json } from "../../src/base/json.js";
import type { FilterExample } from "./filter-entries.js";

/** Expressions over one piece of data. */
export interface Walkthrough {
  readonly data: Json;
  readonly expressions: readonly string[];
}

/** How values are addressed. */
export const VALUES: Walkthrough = {
  data: { name: { first: "Ada", last: "Lovelace" }, phones: ["555-0100", "555-0101"], "customer id": 7 },
  expressions: [
    "{{ data.name.last }}",
    "{{ data['customer id'] }}",
    "{{ data.phones[0] }}",
    "{{ data.phones.last }}",
    "{{ data.phones.size }}",
    "{{ data.name }}",
    "{{ data.name.middle }}",
    "{{ data.name.first }} {{ data.name.last }}",
    "customer-{{ data['customer id'] | pad_left: 3, '0' }}",
    "<  {{- data.name.first -}}  >",
    "{{ 'a text' | upcase }}",
    "{{ data.phones[0] | reveal: reveal_last: 2, mask_char: '*' }}",
  ],
};

export const PATHS: Walkthrough = {
  data: {
    items: [
      { title: "Moby Dick", price: 8.99 },
      { title: "The Lord of the Rings", price: 22.99 },
    ],
    owner: { name: "Ada" },
  },
  expressions: [
    "{{ data | json: '$.owner.name' }}",
    "{{ data | json: '$.items[-1].title' }}",
    "{{ data | json: \"$['owner']['name']\" }}",
    "{{ data | json: '$..name' }}",
    "{{ data | json: '$.items[?(@.price < 10)].title' }}",
    "{{ data | json: '$.items[5].title' }}",
    "{{ data | json: '$.items' | json: '$[0].price' }}",
  ],
};

const list = { items: [{ title: "A" }, { title: "B" }] };

/** Expressions that fail, each in its own way. */
export const MISTAKES: readonly FilterExample[] = [
  { data: "4242", expression: "{{ data | frobnicate }}" },
  { data: "4242", expression: "{{ data | }}" },
  { data: "4242", expression: "{{ data, reveal_last: 4 }}" },
  { data: "4242", expression: "{{ data" },
  { data: "4242", expression: "{% if data %}yes{% endif %}" },
  { data: "4242", expression: "{{ data | reveal_last }}" },
  { data: "4242", expression: "{{ data | pad_left: 8, 'ab' }}" },
  { data: "abc", expression: "{{ data | to_number }}" },
  { data: "12345678901234567890", expression: "{{ data | to_number }}" },
  { data: { a: 1 }, expression: "{{ data | last4 }}" },
  { data: list, expression: "{{ data | json: '$.items[*].title' }}" },
  { data: list, expression: "{{ data | json: 'items' }}" },
  { data: list, expression: "{{ data | json: '$..items..title' }}" },
  { data: "4242", expression: "{{ data | hmac: 'sha-256', 'key' }}" },
  { data: "4242", expression: "{{ data | hmac: 'md5', 'key' | hex }}" },
  { data: "42", expression: "{{ data | alias_card: true }}" },
  { data: 1, expression: "{{ (1..9) | size }}" },
  { data: "x", expression: "{{ data | pad_left: 1000000000, 'x' }}" },
];
