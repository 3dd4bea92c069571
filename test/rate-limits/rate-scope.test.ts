import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/settings/config.js";

describe("CLOAKROOM_RATE_LIMITS", () => {
  it("defaults to the documented limits", () => {
    const documented = {
      global: 1_000,
      portal: 600,
      token_read: 100,
      token_write: 200,
      token_search: 50,
      token_bulk: 600,
    };
    expect(readConfig({}).rateLimits).toEqual(documented);
  });

  it("changes the scopes that it names, or switches limits off", () => {
    const { rateLimits } = readConfig({ CLOAKROOM_RATE_LIMITS: "token_read=7, global=5000" });
    expect(rateLimits).toEqual({
      global: 5_000,
      portal: 600,
      token_read: 7,
      token_write: 200,
      token_search: 50,
      token_bulk: 600,
    });
    expect(readConfig({ CLOAKROOM_RATE_LIMITS: "off" }).rateLimits).toBeUndefined();
  });

  it.each(["on", "tokens=5", "global", "global=0", "global=-1", "global=1.5", "global=1e3", "global=10000000000", ","])(
    "rejects %s and says what is expected",
    (value) => {
      expect(() => readConfig({ CLOAKROOM_RATE_LIMITS: value })).toThrow(/CLOAKROOM_RATE_LIMITS must be off, or scope/);
    },
  );
});

describe("CLOAKROOM_REDIS_URL", () => {
  it.each(["localhost:6379", "http://valkey:6379", "redis://"])("rejects %s without repeating it", (value) => {
    expect(() => readConfig({ CLOAKROOM_REDIS_URL: value })).toThrow(/^CLOAKROOM_REDIS_URL must be an address/);
  });
});
