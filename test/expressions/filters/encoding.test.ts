import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { refusal, result } from "../outcome.js";

const card = "4242424242424242";
// The published sample; HMAC-SHA-256 with the key "secretKeyValue", checked with OpenSSL.
const published = "90A0050E90515101DCAD0F68955370CCA81F6DCB9D299E7E0585CC9746716D9B";

test.each([
  ["{{ data | hmac: 'sha-256', 'secretKeyValue' | to_base16 }}", published],
  ["{{ data | hmac: 'sha-256', 'secretKeyValue' | hex }}", published],
  ["{{ data | hmac: key: 'secretKeyValue' | to_base16 }}", published],
  ["{{ data | hmac: 'sha-256', 'secretKeyValue' | to_base64 }}", Buffer.from(published, "hex").toString("base64")],
  ["{{ data | hmac: 'sha-1', 'k' | hex }}", createHmac("sha1", "k").update(card).digest("hex").toUpperCase()],
  ["{{ data | hmac: 'sha-512', 'k' | hex }}", createHmac("sha512", "k").update(card).digest("hex").toUpperCase()],
  ["{{ 'Zoë' | to_base64 }}", "Wm/Dqw=="],
  ["{{ 'Zoë' | to_base16 }}", "5A6FC3AB"],
])("%s", (expression, expected) => {
  expect(result(expression, card)).toBe(expected);
});

test.each([
  ["{{ data | hmac: 'sha-256', 'k' }}", "bytes must be encoded"],
  ["{{ data | hmac: 'sha-256', 'k' | append: 'x' }}", "bytes must be encoded"],
  ["{{ 'x' | append: data }}-{{ data | hmac: 'sha-256', 'k' }}", "bytes must be encoded"],
  ["{{ data | hmac: 'md5', 'k' | hex }}", "sha-1, sha-256 or sha-512"],
  ["{{ data | hmac: 'sha-256' | hex }}", "hmac needs a text as key"],
  ["{{ data.missing | hmac: 'sha-256', 'k' | hex }}", "hmac needs a text"],
  ["{{ data.missing | to_base64 }}", "to_base64 needs a text"],
  ["{{ data.missing | to_base16 }}", "to_base16 needs a text"],
  ["{{ data.missing | hex }}", "hex needs a text"],
])("%s is rejected", (expression, reason) => {
  expect(refusal(expression, card)).toContain(reason);
});
