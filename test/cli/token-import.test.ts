import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { csvLine } from "../../src/cli/api/export-tokens.js";
import { RunLock } from "../../src/cli/api/run-lock.js";
import { CONTAINER, canContain } from "../store/embedded/support/processes.js";
import { type CommandResult, cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { canMount, SmallDisk } from "../support/small-disk.js";
import { newTenant } from "../support/tenant.js";

const NUMBER = "4242424242424242";
const RIGHTS = ["token:import", "token:export", "token:create", "token:read", "token:search"];

let directory: string;
let key: string;
let files = 0;
beforeAll(async () => {
  const tenant = await newTenant();
  directory = newDirectory();
  const rules = [{ priority: 1, container: "/", transform: "reveal", permissions: RIGHTS.slice(2) }];
  ({ key } = await tenant.application({ type: "private", permissions: RIGHTS.slice(0, 2), rules }));
});
const fileOf = (name: string, content: string | Buffer): string => {
  files += 1;
  const path = join(directory, `${files}-${name}`);
  writeFileSync(path, content);
  return path;
};
const run = (...args: string[]): Promise<CommandResult> => {
  const environment = { CLOAKROOM_URL: inject("serverUrl"), CLOAKROOM_API_KEY: key, XDG_CONFIG_HOME: directory };
  return cloakroom(environment, "tokens", ...args);
};
interface Line {
  readonly line: number;
  readonly id?: string;
  readonly error?: { readonly code: string; readonly detail: string };
}
const linesOf = (path: string): Line[] =>
  readFileSync(`${path}.results.ndjson`, "utf8")
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line));
const dataOf = async (id: string) => JSON.parse((await run("get", id, "--reveal", "--json")).stdout).data;

describe("cloakroom tokens import", () => {
  it("stores cards of Stripe's layout, with a byte order mark, CRLF and quotes", async () => {
    const header = "description,name,email,id,card.exp_month,card.exp_year,card.id,card.name,card.number";
    const file = fileOf(
      "stripe.csv",
      `\ufeff${header}\r\n"a ""quoted"", text\r\nin two lines",Ada,ada@example.com,cus_1,7,2031,card_1,Ada,${NUMBER}\r\n`,
    );
    const { code, stdout, stderr } = await run("import", file, "--layout", "stripe", "--json");
    expect({ code, stderr, ...JSON.parse(stdout) }).toMatchObject({ code: 0, imported: 1, failed: 0 });
    const [{ id = "" } = {}] = linesOf(file);
    const token = JSON.parse((await run("get", id, "--reveal", "--json")).stdout);
    expect(token).toMatchObject({
      type: "card",
      data: { number: NUMBER, expiration_month: 7, expiration_year: 2031 },
      metadata: { stripe_customer: "cus_1", stripe_card: "card_1" },
    });
    expect(statSync(`${file}.results.ndjson`).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${file}.results.ndjson`, "utf8")).not.toContain(NUMBER);
  });

  it("stores tokens as Basis Theory's API returns them", async () => {
    const token = {
      id: "bt-one",
      tenant_id: "x",
      type: "token",
      data: { a: [1] },
      metadata: { m: "n" },
      created_by: "y",
    };
    const file = fileOf("tokens.jsonl", `${JSON.stringify(token)}\n`);
    expect((await run("import", file, "--layout", "basis-theory")).code).toBe(0);
    expect(await dataOf("bt-one")).toEqual({ a: [1] });
  });

  it.each([
    [
      "spreedly",
      `id,first_name,last_name,card_number,expiration_month,expiration_year\nEEif,Ada,Lovelace,${NUMBER},3,2032\n`,
      { spreedly_token: "EEif" },
    ],
    ...["credit_card.expiration,03/2032", "credit_card.expiration_date,032032", "credit_card.expiration,0332"].map(
      (expiry): [string, string, object] => {
        const [column, value] = expiry.split(",");
        const header = `id,first_name,company,credit_card.token,credit_card.cardholder_name,credit_card.number,${column}`;
        return [
          ...(["braintree", `${header}\n123,Jane,"Jane's, Dough",ab12d4,Jane Doe,${NUMBER},${value}\n`] as const),
          { braintree_customer: "123", braintree_token: "ab12d4" },
        ];
      },
    ),
    [
      "braintree",
      `id,credit_card.token,credit_card.number,credit_card.expiration_month,credit_card.expiration_year\n7,x,${NUMBER},03,32\n`,
      { braintree_customer: "7", braintree_token: "x" },
    ],
  ] satisfies [string, string, object][])("stores cards of the layout %s", async (layout, content, metadata) => {
    const file = fileOf(`${layout}.csv`, content);
    expect((await run("import", file, "--layout", layout)).stderr).toBe("");
    const [{ id = "" } = {}] = linesOf(file);
    const token = JSON.parse((await run("get", id, "--reveal", "--json")).stdout);
    const data = { number: NUMBER, expiration_month: 3, expiration_year: 2032 };
    expect(token).toMatchObject({ type: "card", data, metadata });
  });

  it("stores values as the Vault API of VGS reveals them", async () => {
    const aliases = [{ alias: "tok_sandbox_5UpnbMvaihRuRwz5QXwBFw", format: "UUID" }];
    const revealed = { aliases, classifiers: ["bank-account"], created_at: "2019-05-15T12:30:45Z", value: "122105155" };
    const file = fileOf("vgs.ndjson", `${JSON.stringify({ ...revealed, storage: "PERSISTENT" })}\n`);
    expect((await run("import", file, "--layout", "vgs")).code).toBe(0);
    const [{ id = "" } = {}] = linesOf(file);
    const token = JSON.parse((await run("get", id, "--reveal", "--json")).stdout);
    expect(token).toMatchObject({ data: "122105155", metadata: { vgs_alias: aliases[0]?.alias } });
  });

  it("stores columns by a mapping file, and leaves others out: also verification codes", async () => {
    const mapping = fileOf(
      "mapping.json",
      JSON.stringify({
        columns: { pan: "data.number", month: "data.expiration_month", year: "data.expiration_year" },
        values: { type: "card", containers: ["/pci/moved/"] },
      }),
    );
    const file = fileOf("cards.csv", `pan,month,year,cvv\n4242-4242 4242 4242,07,31,123\n`);
    expect((await run("import", file, "--mapping", mapping)).code).toBe(0);
    const [{ id = "" } = {}] = linesOf(file);
    expect(await dataOf(id)).toEqual({ number: NUMBER, expiration_month: 7, expiration_year: 2031 });
  });

  it("names the line of each record that it cannot store, and stores the others", async () => {
    const rows = [
      Buffer.from('{"type":"token","data":"first"}\n{"type":"token","da'),
      Buffer.from("\n\n"),
      Buffer.from(`{"type":"token","data":"${"x".repeat(10_000_000)}"}\n`),
      Buffer.concat([Buffer.from('{"type":"token","data":"'), Buffer.of(0xe9), Buffer.from('"}\n')]),
      Buffer.from('{"type":"token","data":12345678901234567890}\n[]\n'),
      Buffer.from(`{"type":"card","data":{"number":"4242424242424241"}}\n`),
      Buffer.from(`{"type":"token","data":"\\ud800"}\n{"type":"token","data":${"[".repeat(70)}${"]".repeat(70)}}\n`),
      Buffer.from('{"type":"token","data":"last"}'),
    ];
    const file = fileOf("bad.ndjson", Buffer.concat(rows));
    const { code, stdout } = await run("import", file, "--json");
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 1, imported: 2, failed: 8 });
    const shown = linesOf(file).map(({ line, error }) => [line, error?.code]);
    expect(shown).toEqual([
      [1, undefined],
      ...[2, 4, 5, 6, 7].map((line) => [line, "unreadable"]),
      [8, "validation_failed"],
      [9, "unreadable"],
      [10, expect.any(String)],
      [11, undefined],
    ]);
    expect(readFileSync(`${file}.results.ndjson`, "utf8")).not.toContain("4242424242424241");
  });

  it("reads on after a record of CSV that is broken or too long, and says where a cut file ends", async () => {
    const file = fileOf(
      "bad.csv",
      `type,data\ntoken,one\ntoken\ntoken,"${"x".repeat(10_000_000)}"\ntoken,"a"b\ntoken,two\ntoken,"cut`,
    );
    const { stdout } = await run("import", file, "--json");
    expect(JSON.parse(stdout)).toMatchObject({ imported: 2, failed: 4 });
    expect(linesOf(file).map(({ line, id }) => [line, id !== undefined])).toEqual([
      [2, true],
      [3, false],
      [4, false],
      [5, false],
      [6, true],
      [7, false],
    ]);
  });

  it.each([
    ["UTF-16", "wide.csv", Buffer.from("\ufefftype,data\n", "utf16le")],
    ["a header with a column twice", "twice.csv", Buffer.from("type,type\na,b\n")],
    ["nothing in it", "empty.csv", Buffer.alloc(0)],
  ])("refuses a file with %s", async (_, name, content) => {
    const { code, stderr } = await run("import", fileOf(name, content));
    expect(code).toBe(2);
    expect(stderr).not.toBe("");
  });

  it("shows the first ten rows masked in a dry run, and stores nothing", async () => {
    const row = (number: string) => JSON.stringify({ type: "card", data: { number }, metadata: { wrong: NUMBER } });
    const file = fileOf("dry.ndjson", `${row(NUMBER)}\n${row("4242424242424241")}\n${`${row(NUMBER)}\n`.repeat(20)}`);
    const { code, stdout } = await run("import", file, "--dry-run");
    expect(code).toBe(0);
    expect(stdout.trimEnd().split("\n")).toHaveLength(10);
    expect(stdout).not.toMatch(/\d{5}/);
    expect(stdout).toContain("XXXXXXXXXXXX4242");
    expect(stdout).toContain("data.number");
    expect(existsSync(`${file}.results.ndjson`)).toBe(false);
  });

  it("goes on where the results end, whatever a kill left of them, and stores every row once", async () => {
    const rows = Array.from({ length: 230 }, (_, index) => JSON.stringify({ type: "token", data: `row ${index}` }));
    const file = fileOf("again.ndjson", `${rows.join("\n")}\n`);
    expect((await run("import", file)).code).toBe(0);
    const results = `${file}.results.ndjson`;
    const whole = readFileSync(results);
    const header = whole.indexOf(10) + 1;
    const cuts = fc.integer({ min: header, max: whole.length });
    await fc.assert(
      fc.asyncProperty(cuts, async (cut) => {
        writeFileSync(results, whole.subarray(0, cut));
        // As a run that was killed leaves it.
        writeFileSync(`${results}.lock`, "");
        expect((await run("import", file)).code).toBe(0);
        expect(readFileSync(results)).toEqual(whole);
        expect(existsSync(`${results}.lock`)).toBe(false);
      }),
      { numRuns: 8, examples: [[header], [whole.length]] },
    );
  });

  it.runIf(canContain)(
    "goes on in another container after a kill in one, where both have the same process id",
    async () => {
      const rows = Array.from({ length: 400 }, (_, index) =>
        JSON.stringify({ type: "token", data: `contained ${index}` }),
      );
      const file = fileOf("contained.ndjson", rows.join("\n"));
      // It ends its process without a word when the first results are written: none can kill the first of its container.
      const preload = fileOf(
        "preload.mjs",
        `import fs from "node:fs/promises";
      const probe = await fs.open(${JSON.stringify(file)});
      const { appendFile } = Object.getPrototypeOf(probe);
      await probe.close();
      Object.getPrototypeOf(probe).appendFile = async function (text) {
        await appendFile.call(this, text);
        if (text.includes("position")) process.reallyExit(137);
      };`,
      );
      const contained = (...flags: string[]) => {
        const env = { CLOAKROOM_URL: inject("serverUrl"), CLOAKROOM_API_KEY: key, XDG_CONFIG_HOME: directory };
        const [command, ...words] = [
          ...CONTAINER,
          process.execPath,
          ...flags,
          "dist/src/main.js",
          "tokens",
          "import",
          file,
        ];
        return promisify(execFile)(command ?? "", words, { env: { PATH: process.env.PATH, ...env } });
      };
      await expect(contained("--import", preload)).rejects.toThrow();
      expect(readFileSync(`${file}.results.ndjson`, "utf8")).toContain('"position":1,');
      expect(existsSync(`${file}.results.ndjson.lock`)).toBe(true);
      await contained();
      expect(linesOf(file).map(({ line }) => line)).toEqual(rows.map((_, index) => index + 1));
      expect(existsSync(`${file}.results.ndjson.lock`)).toBe(false);
    },
  );

  it.runIf(canMount)("ends when the disk of the results is full, and goes on once it has space", async () => {
    using disk = new SmallDisk(1);
    const rows = Array.from({ length: 400 }, (_, index) => JSON.stringify({ type: "token", data: `disk ${index}` }));
    const file = fileOf("disk.ndjson", rows.join("\n"));
    const results = join(disk.directory, "results");
    // Room for some of the results.
    writeFileSync(join(disk.directory, "room"), Buffer.alloc(16_384));
    disk.fill();
    rmSync(join(disk.directory, "room"));
    const full = await run("import", file, "--results", results);
    expect([full.code, full.stderr]).toEqual([2, expect.stringContaining("its disk is full. Free space")]);
    disk.empty();
    expect((await run("import", file, "--results", results)).code).toBe(0);
    const lines = readFileSync(results, "utf8").trimEnd().split("\n").slice(1);
    const stored: { position: number; id: string }[] = lines.map((line) => JSON.parse(line));
    expect(stored.map(({ position }) => position)).toEqual(rows.map((_, index) => index + 1));
    expect(new Set(stored.map(({ id }) => id)).size).toBe(rows.length);
  });

  it("stores every row once when two runs read one file at once", async () => {
    const rows = Array.from({ length: 230 }, (_, index) => JSON.stringify({ type: "token", data: `both ${index}` }));
    const file = fileOf("both.ndjson", rows.join("\n"));
    const ends = await Promise.all([run("import", file), run("import", file)]);
    for (const { code, stderr } of ends) {
      expect([code, stderr]).toEqual(code === 0 ? [0, ""] : [2, expect.stringContaining("another run")]);
    }
    expect(ends.map(({ code }) => code)).toContain(0);
    const stored = linesOf(file);
    expect(stored.map(({ line }) => line)).toEqual(rows.map((_, index) => index + 1));
    expect(new Set(stored.map(({ id }) => id)).size).toBe(rows.length);
  });

  it("refuses a second run beside the first, and results of something else", async () => {
    const file = fileOf("busy.ndjson", '{"type":"token","data":"x"}\n');
    const lock = `${file}.results.ndjson.lock`;
    const first = RunLock.tryTake(lock);
    const { code, stderr } = await run("import", file);
    expect([code, stderr]).toEqual([2, expect.stringContaining("another run")]);
    first?.[Symbol.dispose]();
    expect((await run("import", file)).code).toBe(0);
    writeFileSync(lock, "a text of somebody");
    const locked = await run("import", file);
    expect([locked.code, locked.stderr]).toEqual([2, expect.stringContaining("must be a new or an empty file")]);
    expect(readFileSync(lock, "utf8")).toBe("a text of somebody");
    const { code: wrong } = await run("import", file, "--results", fileOf("other.txt", "mine\n"));
    expect(wrong).toBe(2);
    const nowhere = await run("import", file, "--results", join(directory, "absent", "results.ndjson"));
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("cannot be written")]);
  });

  it("refuses the results of an import into another tenant, whose rows it would not store here", async () => {
    const file = fileOf("staging.ndjson", '{"type":"token","data":"x"}\n');
    expect((await run("import", file)).code).toBe(0);
    const before = readFileSync(`${file}.results.ndjson`);
    const other = await newTenant();
    const rules = [{ priority: 1, container: "/", transform: "reveal", permissions: RIGHTS.slice(2) }];
    const { key: otherKey } = await other.application({ type: "private", permissions: RIGHTS.slice(0, 2), rules });
    const environment = { CLOAKROOM_URL: inject("serverUrl"), CLOAKROOM_API_KEY: otherKey, XDG_CONFIG_HOME: directory };
    const { code, stderr } = await cloakroom(environment, "tokens", "import", file);
    expect([code, stderr]).toEqual([2, expect.stringContaining("another tenant: name a new file")]);
    expect(readFileSync(`${file}.results.ndjson`)).toEqual(before);
  });
});

describe("cloakroom tokens export", () => {
  it.each(["ndjson", "csv"])(
    "writes a new %s file that only its owner reads, which can be imported",
    async (format) => {
      const container = `/out/${format}/`;
      const rows = [
        { id: `out-${format}-1`, type: "token", data: { a: 'say "x", y' }, containers: [container] },
        { id: `out-${format}-2`, type: "token", data: "=1+2", containers: [container], metadata: { order: "17" } },
      ];
      const source = fileOf("source.ndjson", rows.map((row) => JSON.stringify(row)).join("\n"));
      expect((await run("import", source)).code).toBe(0);
      const file = join(directory, `out.${format}`);
      const { code, stdout } = await run("export", "--file", file, "--container", container, "--json");
      expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 0, file, tokens: 2 });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const text = readFileSync(file, "utf8");
      expect(text).toContain(`out-${format}-1`);
      expect(text).not.toContain("=1+2");
      expect((await run("export", "--file", file)).code).toBe(2);
    },
  );

  it("leaves no cell of CSV that a spreadsheet would run", () => {
    const cell = fc.string({
      unit: fc.constantFrom("=", "+", "-", "@", "\t", "\r", "\n", '"', ",", "a", "1"),
      maxLength: 6,
    });
    fc.assert(
      fc.property(cell, (text) => {
        const written = csvLine([text]).slice(0, -2);
        const read = written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written;
        expect(read).not.toMatch(/^[=+\-@\t\r]/);
        expect(read.replace(/^'/, "")).toBe(text.replace(/^'/, ""));
      }),
      { numRuns: 1_000 },
    );
  });
});
