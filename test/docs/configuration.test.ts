import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { configurationPage } from "../../scripts/configuration-page.js";
import { readConfig } from "../../src/settings/config.js";
import { NAMES } from "../../src/settings/setting-names.js";
import { SETTING_GROUPS, SETTINGS } from "../../src/settings/settings.js";

const page = readFileSync("docs/configuration.md", "utf8");

describe("docs/configuration.md", () => {
  it("is what `npm run generate` writes", () => {
    expect(page).toBe(configurationPage());
  });

  it("lists every variable that the server accepts, once", () => {
    const listed = [...page.matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].flatMap(([, name = "", type = ""]) =>
      type.endsWith("*secret*") ? [name, `${name}_FILE`] : [name],
    );
    const shared = ["DATABASE_URL", "DATABASE_URL_FILE", "MIGRATE_DATABASE_URL", "MIGRATE_DATABASE_URL_FILE"];
    expect([...listed].sort()).toEqual([...shared, ...NAMES.map((name) => `CLOAKROOM_${name}`)].sort());
  });

  it("puts every setting in one group", () => {
    const grouped = SETTING_GROUPS.flatMap(({ settings }) => Object.keys(settings));
    expect(new Set(grouped).size).toBe(grouped.length);
    for (const name of Object.keys(SETTINGS)) expect(grouped).toContain(`CLOAKROOM_${name}`);
  });
});

describe("defaults and bounds in the configuration reference", () => {
  const wholes = Object.entries(SETTINGS).flatMap(([name, setting]) =>
    setting.kind === "whole" || setting.kind === "optional_whole" ? [{ name: `CLOAKROOM_${name}`, ...setting }] : [],
  );

  it("are those of a start without settings", () => {
    expect(readConfig({})).toMatchObject({
      host: "127.0.0.1",
      port: 8080,
      adminPort: 9464,
      adminNames: [],
      corsOrigins: ["*"],
      logLevel: "info",
      bodyLimit: 5_242_880,
      connections: 16,
      auditRetentionDays: 400,
      rpcFastPath: true,
      sandbox: {
        threads: undefined,
        limits: { wallMs: 30_000, memoryBytes: 134_217_728 },
        queue: { total: 1_000, waitMs: 5_000 },
      },
    });
  });

  it.each(wholes)("$name accepts $least to $most and nothing beyond", ({ name, least, most }) => {
    expect(() => readConfig({ [name]: String(least) })).not.toThrow();
    expect(() => readConfig({ [name]: String(most) })).not.toThrow();
    const refusal = `${name} must be a whole number from ${least} to ${most}`;
    expect(() => readConfig({ [name]: String(most + 1) })).toThrow(refusal);
    expect(() => readConfig({ [name]: least === 0 ? "-1" : String(least - 1) })).toThrow(refusal);
  });
});
