import { describe, expect, it } from "vitest";
import { ConfigError, withPresentNames } from "../../src/settings/environment.js";

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

  it("is refused beside the present one", () => {
    const environment = { CLOAKROOM_RPC_LANE: "off", CLOAKROOM_RPC_FAST_PATH: "on" };
    expect(() => withPresentNames(environment, () => {})).toThrow(ConfigError);
  });
});
