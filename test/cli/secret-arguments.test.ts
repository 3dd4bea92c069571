import { describe, expect, it } from "vitest";
import { refuseSecretArguments } from "../../src/cli/api/secret-arguments.js";

describe("refuseSecretArguments", () => {
  it.each([
    "4242424242424242",
    "4242 4242 4242 4242",
    "4242-4242-4242-4242",
    "--number=4242424242424242",
    "378282246310005",
    '{"number":"4242424242424242"}',
    "card=6011111111111117",
  ])("refuses the card number in %j, and does not repeat it", (argument) => {
    const refused = () => refuseSecretArguments(["tokens", argument]);
    expect(refused).toThrow(/standard input/);
    expect(refused).not.toThrow(/\d{4}/);
  });

  it.each(["key_prod_mgt_abcdefghijkl", "--url=https://x/?key=key_test_pvt_abcdefghijkl"])(
    "refuses the key in %j",
    (argument) => {
      expect(() => refuseSecretArguments([argument])).toThrow(/CLOAKROOM_API_KEY/);
    },
  );

  it.each([
    "4242424242424241",
    "01a203e7-61bd-7000-9360-2ccc8755756f",
    "2026-11-22T15:37:05.293Z",
    "token:create",
    "order=424242424242",
    "42424242424242424242424242",
  ])("lets %j pass", (argument) => {
    expect(() => refuseSecretArguments([argument])).not.toThrow();
  });
});
