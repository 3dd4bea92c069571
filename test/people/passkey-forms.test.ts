import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.js";
import { readAuthentication, readRegistration } from "../../src/people/credential-text.js";
import { addressForPeople, chooseRelyingParty } from "../../src/people/relying-party.js";
import { faultFields } from "../expressions/faults.js";

describe("the relying party of a vault", () => {
  it.each([
    ["https://vault.example.com", "vault.example.com", "https://vault.example.com"],
    ["https://vault.example.com:8443/cards", "vault.example.com", "https://vault.example.com:8443"],
    ["http://127.0.0.1:8080", "localhost", "http://localhost:8080"],
    ["http://127.9.9.9:8080", "localhost", "http://localhost:8080"],
    ["http://[::1]:8080", "localhost", "http://localhost:8080"],
    ["http://localhost:8080", "localhost", "http://localhost:8080"],
    ["http://2130706434", "localhost", "http://localhost"],
  ])("at %s is %s, for pages of %s", (address, id, origin) => {
    expect(chooseRelyingParty(address)).toEqual({ id, origin });
  });

  it.each(["http://10.0.0.7:8080", "https://203.0.113.7", "https://[fd00::7]"])(
    "does not exist at %s, because browsers make no passkeys for addresses",
    (address) => {
      expect(() => chooseRelyingParty(address)).toThrow(/The operator must set CLOAKROOM_PUBLIC_URL/);
    },
  );

  it.each([
    ["https://vault.example.com/", "https://vault.example.com"],
    ["http://127.0.0.1:8080", "http://localhost:8080"],
    ["https://vault.example.com/cards", "https://vault.example.com/cards"],
    ["https://10.0.0.7", "https://10.0.0.7"],
  ])("has the links of %s at %s", (address, links) => {
    expect(addressForPeople(address)).toBe(links);
  });
});

describe("a credential in a request", () => {
  const REGISTERED = { clientDataJSON: "Y2xpZW50", attestationObject: "b2JqZWN0", transports: ["usb", 7] };
  const PROVED = { clientDataJSON: "Y2xpZW50", authenticatorData: "ZGF0YQ", signature: "c2ln" };
  const text = (response: Json, more: Readonly<Record<string, Json>> = {}) =>
    JSON.stringify({ id: "aWQ", rawId: "other", type: "public-key", extra: 1, response, ...more });

  it("is read with its own parts only", () => {
    expect(readRegistration(text(REGISTERED))).toEqual({
      ...{ id: "aWQ", rawId: "aWQ", type: "public-key", clientExtensionResults: {} },
      response: { ...REGISTERED, transports: ["usb", "7"] },
    });
    expect(readAuthentication(text({ ...PROVED, userHandle: "dXNlcg" }))).toEqual({
      ...{ id: "aWQ", rawId: "aWQ", type: "public-key", clientExtensionResults: {} },
      response: PROVED,
    });
  });

  it("keeps eight transports at most, and none if they are no list", () => {
    const transportsOf = (transports: Json) =>
      readRegistration(text({ ...REGISTERED, transports })).response.transports;
    expect(transportsOf(new Array<string>(20).fill("usb"))).toHaveLength(8);
    expect(transportsOf("usb")).toEqual([]);
  });

  it.each<[string, string]>([
    ["no JSON", "{"],
    ["a text", '"id"'],
    ["null", "null"],
    ["another type", text(PROVED, { type: "password" })],
    ["no response", JSON.stringify({ id: "aWQ", type: "public-key" })],
    ["a response that is a list", text([])],
    ["an id in base64 with padding", text(PROVED, { id: "aWQ=" })],
    ["an empty id", text(PROVED, { id: "" })],
    ["an id that is a number", text(PROVED, { id: 5 })],
    ["a signature of another alphabet", text({ ...PROVED, signature: "a+b/" })],
    ["a signature of more than 8,000 characters", text({ ...PROVED, signature: "a".repeat(8_001) })],
    ["a part that is missing", text({ clientDataJSON: "YQ" })],
  ])("is refused if it is %s", (_, credential) => {
    const fault = { credential: ["must be the JSON text of a public-key credential, as the browser returns it"] };
    expect(faultFields(() => readAuthentication(credential))).toEqual(fault);
    expect(faultFields(() => readRegistration(credential))).toEqual(fault);
  });
});
