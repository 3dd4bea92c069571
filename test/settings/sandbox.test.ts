import { describe, expect, it } from "vitest";
import { ConfigError } from "../../src/settings/config-error.js";
import { readSandbox } from "../../src/settings/sandbox.js";
import type { Environment } from "../../src/settings/setting-values.js";

describe("the sandbox's settings", () => {
  it("have the documented defaults", () => {
    expect(readSandbox({})).toEqual({
      threads: undefined,
      limits: { wallMs: 30_000, memoryBytes: 128 * 1024 * 1024 },
      queue: { total: 1_000, waitMs: 5_000 },
    });
  });

  it("take effect", () => {
    const environment = {
      CLOAKROOM_SANDBOX_THREADS: "2",
      CLOAKROOM_SANDBOX_TIMEOUT_MS: "500",
      CLOAKROOM_SANDBOX_MEMORY_MB: "32",
    };
    expect(readSandbox(environment)).toEqual({
      threads: 2,
      limits: { wallMs: 500, memoryBytes: 32 * 1024 * 1024 },
      queue: { total: 1_000, waitMs: 5_000 },
    });
  });

  it.each<[Environment, string]>([
    [{ CLOAKROOM_SANDBOX_THREADS: "0" }, "CLOAKROOM_SANDBOX_THREADS must be a whole number from 1 to 64"],
    [
      { CLOAKROOM_SANDBOX_TIMEOUT_MS: "30001" },
      "CLOAKROOM_SANDBOX_TIMEOUT_MS must be a whole number from 100 to 30000",
    ],
    [{ CLOAKROOM_SANDBOX_MEMORY_MB: "8" }, "CLOAKROOM_SANDBOX_MEMORY_MB must be a whole number from 16 to 1024"],
  ])("%j stops the start", (environment, words) => {
    expect(() => readSandbox(environment)).toThrow(ConfigError);
    expect(() => readSandbox(environment)).toThrow(words);
  });
});
