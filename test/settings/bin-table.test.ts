import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readBinTable } from "../../src/settings/bin-table.js";
import { ConfigError } from "../../src/settings/config-error.js";

describe("a BIN table's file", () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "cloakroom-bins-"));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const written = (text: string) => {
    const file = join(directory, "bins.json");
    writeFileSync(file, text);
    return file;
  };

  it("is read completely, and there is no table without one", async () => {
    const table = await readBinTable(written('{"42424242":{"type":"Credit"}}'));
    expect(table?.find("4242424242424242")).toEqual({ type: "Credit" });
    expect(await readBinTable(undefined)).toBeUndefined();
  });

  it.each([
    ["not json: 4111111111111111", /must be JSON\./],
    ["", /must be JSON\./],
    ["[]", /must be a JSON object/],
    ['{"4242":{}}', /keys of 6 to 11 digits, not "4242"/],
    ['{"424242":"VISA"}', /an object of details for 424242/],
  ])("with %j is rejected in one line that repeats none of it", async (text, words) => {
    const reading = readBinTable(written(text));
    await expect(reading).rejects.toThrow(ConfigError);
    await expect(reading).rejects.toThrow(words);
    await expect(reading).rejects.toThrow(
      /^CLOAKROOM_BIN_TABLE_FILE names a file that is not a BIN table: \S+bins\.json\. [^\n]+$/,
    );
    await expect(reading).rejects.not.toThrow(/4111111111111111/);
  });

  it("is rejected if it does not exist", async () => {
    await expect(readBinTable(join(directory, "none"))).rejects.toThrow(
      /CLOAKROOM_BIN_TABLE_FILE names a file that cannot be read: .*none$/,
    );
  });
});
