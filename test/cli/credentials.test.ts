import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { findCredentials } from "../../src/cli/api/credentials.js";
import { type Profiles, profilesFile, readProfiles, writeProfiles } from "../../src/cli/api/profiles.js";
import { newDirectory } from "../support/new-directory.js";

const directory = newDirectory();
const environment = { XDG_CONFIG_HOME: directory };
const file = profilesFile(environment);
const PROFILES: Profiles = {
  default: { url: "https://vault.example.com", key: "key-default", ca_file: "/ca.pem" },
  ada: { url: "https://vault.example.com/", sign_in: "cookie-ada" },
};
afterAll(() => rmSync(directory, { recursive: true, force: true }));
afterEach(() => rmSync(file, { force: true }));

/** The key or cookie that a command would use, where it is from, and the address. */
function found(
  profiles: Profiles | undefined,
  given: { url?: string; profile?: string },
  more: Readonly<Record<string, string>> = {},
) {
  if (profiles) writeProfiles(file, profiles);
  const { url, urlFrom, identity } = findCredentials(
    { url: given.url, profile: given.profile },
    { ...environment, ...more },
  );
  return [identity.kind === "key" ? identity.key : identity.cookie, identity.from, url, urlFrom];
}
const KEY = { CLOAKROOM_API_KEY: "key-env" };
const BOTH = { ...KEY, CLOAKROOM_URL: "https://env.example.com" };

describe("the key and the address of a command", () => {
  it.each([
    ["the default profile", {}, {}, ["key-default", "profile default", "https://vault.example.com", "profile default"]],
    [
      "a profile that is named",
      { profile: "ada" },
      {},
      ["cookie-ada", "profile ada", "https://vault.example.com/", "profile ada"],
    ],
    [
      "a named profile, whatever the environment has",
      { profile: "ada" },
      BOTH,
      ["cookie-ada", "profile ada", "https://vault.example.com/", "profile ada"],
    ],
    [
      "the environment before the default profile",
      {},
      BOTH,
      ["key-env", "CLOAKROOM_API_KEY", "https://env.example.com", "CLOAKROOM_URL"],
    ],
    [
      "a key of the environment at the profile's address",
      {},
      KEY,
      ["key-env", "CLOAKROOM_API_KEY", "https://vault.example.com", "profile default"],
    ],
    [
      "the option before all other addresses",
      { url: "https://other.example" },
      BOTH,
      ["key-env", "CLOAKROOM_API_KEY", "https://other.example", "--url"],
    ],
    [
      "the profile's address in another spelling",
      { url: "https://VAULT.example.com:443" },
      {},
      ["key-default", "profile default", "https://VAULT.example.com:443", "--url"],
    ],
    [
      "empty variables as absent",
      {},
      { CLOAKROOM_API_KEY: "", CLOAKROOM_URL: "" },
      ["key-default", "profile default", "https://vault.example.com", "profile default"],
    ],
  ])("are those of %s", (_, given, more, expected) => {
    expect(found(PROFILES, given, more)).toEqual(expected);
  });

  it.each<[string, Profiles | undefined, { url?: string; profile?: string }, Readonly<Record<string, string>>, string]>(
    [
      [
        "no key",
        undefined,
        { url: "https://v.example" },
        {},
        "There is no key. Set CLOAKROOM_API_KEY, or run: cloakroom login",
      ],
      ["no address", undefined, {}, KEY, "There is no address. Set CLOAKROOM_URL or --url, or run: cloakroom login"],
      [
        "an unknown profile",
        PROFILES,
        { profile: "bob" },
        BOTH,
        "There is no profile bob. Run: cloakroom login --profile bob",
      ],
      [
        "a profile that every object inherits",
        PROFILES,
        { profile: "constructor" },
        BOTH,
        "There is no profile constructor.",
      ],
      [
        "a profile's key at another address",
        PROFILES,
        { url: "https://evil.example" },
        {},
        "The key of profile default is for https://vault.example.com and is not sent to another address.",
      ],
      [
        "a profile's sign-in at another path",
        PROFILES,
        { profile: "ada", url: "https://vault.example.com/x" },
        {},
        "The sign-in of profile ada is for https://vault.example.com/ and",
      ],
      [
        "a profile's key over http",
        PROFILES,
        { url: "http://vault.example.com" },
        {},
        "The key of profile default is for https://vault.example.com and",
      ],
      [
        "a profile's key at an address of the environment",
        PROFILES,
        {},
        { CLOAKROOM_URL: "https://env.example.com" },
        "The key of profile default is for",
      ],
      ["an address that is no URL", PROFILES, { url: "vault" }, {}, "The key of profile default is for"],
    ],
  )("are refused with %s", (_, profiles, given, more, message) => {
    expect(() => found(profiles, given, more)).toThrow(message);
  });
});

describe("the file of profiles", () => {
  const written = (text: string, mode = 0o600) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, mode);
    return () => readProfiles(file);
  };

  it("is empty if it does not exist, and otherwise has what was written", () => {
    expect(Object.keys(readProfiles(file))).toEqual([]);
    writeProfiles(file, PROFILES);
    expect({ ...readProfiles(file) }).toEqual(PROFILES);
  });

  it.each([0o640, 0o604, 0o666, 0o610])("is not read if other users may: mode %i", (mode) => {
    expect(written(JSON.stringify(PROFILES), mode)).toThrow(/^Other users may read the keys in .* Run: chmod 600 /);
  });

  it.each([
    ["no JSON", "{"],
    ["a list of texts", '["x"]'],
    ["null", "null"],
    ["a profile without address", '{"a":{"key":"k"}}'],
    ["a profile without secret", '{"a":{"url":"https://v"}}'],
    ["a profile with key and sign-in", '{"a":{"url":"https://v","key":"k","sign_in":"s"}}'],
    ["a profile whose authority is no text", '{"a":{"url":"https://v","key":"k","ca_file":1}}'],
  ])("is refused as damaged if it is %s", (_, text) => {
    expect(written(text)).toThrow(/cannot be read\. Remove it and run: cloakroom login$/);
  });
});
