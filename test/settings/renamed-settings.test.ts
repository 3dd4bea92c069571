import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/settings/config.js";
import { ConfigError } from "../../src/settings/config-error.js";
import { withPresentNames } from "../../src/settings/setting-names.js";

describe("a setting under its former name", () => {
  it("sets the present one, with a warning", () => {
    const warnings: string[] = [];
    const environment = { CLOAKROOM_RPC_LANE: "off", HOME: "/home" };
    expect(withPresentNames(environment, (line) => warnings.push(line))).toEqual({
      CLOAKROOM_RPC_FAST_PATH: "off",
      HOME: "/home",
    });
    expect(warnings).toEqual([
      "CLOAKROOM_RPC_LANE is now CLOAKROOM_RPC_FAST_PATH. The next release does not accept the former name.",
    ]);
  });

  it.each([
    ["CLOAKROOM_LOG_RETENTION_DAYS", "30", { auditRetentionDays: 30 }],
    ["CLOAKROOM_LOG_ADDRESSES", "none", { auditClientAddresses: "none" }],
    ["CLOAKROOM_REQUEST_TIMEOUT_MS", "5000", { maxRpcDeadlineMs: 5_000 }],
  ])("%s is still read", (former, value, expected) => {
    expect(readConfig(withPresentNames({ [former]: value }, () => {}))).toMatchObject(expected);
  });

  it("is refused beside the present one", () => {
    const environment = { CLOAKROOM_RPC_LANE: "off", CLOAKROOM_RPC_FAST_PATH: "on" };
    expect(() => withPresentNames(environment, () => {})).toThrow(ConfigError);
  });
});
