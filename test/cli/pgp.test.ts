import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { createMessage, encrypt, generateKey } from "openpgp";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { type CommandResult, cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { newTenant } from "../support/tenant.js";

const NUMBER = "4242424242424242";
const PASSPHRASE = "correct horse";

let directory: string;
let key: string;
let sealedFor: Awaited<ReturnType<typeof newKey>>;
let files = 0;
const newKey = (passphrase?: string) =>
  generateKey({ userIDs: [{ name: "Receiver" }], format: "armored", ...(passphrase && { passphrase }) });

beforeAll(async () => {
  const tenant = await newTenant();
  directory = newDirectory();
  const permissions = ["token:create", "token:read", "token:export"];
  const rules = [{ priority: 1, container: "/", transform: "reveal", permissions }];
  ({ key } = await tenant.application({ type: "private", permissions: ["token:import"], rules }));
  sealedFor = await newKey();
});
const fileOf = (name: string, content: string | Uint8Array): string => {
  files += 1;
  const path = join(directory, `${files}-${name}`);
  writeFileSync(path, content);
  return path;
};
const run = (environment: Record<string, string>, ...args: string[]): Promise<CommandResult> =>
  cloakroom(
    { CLOAKROOM_URL: inject("serverUrl"), CLOAKROOM_API_KEY: key, XDG_CONFIG_HOME: directory, ...environment },
    "tokens",
    ...args,
  );
const tokens = (...args: string[]) => run({}, ...args);
const rowsOf = (count: number, from = 1) =>
  Array.from(
    { length: count },
    (_, index) => `${JSON.stringify({ type: "token", data: `value ${from + index}` })}\n`,
  ).join("");
const sealed = async (clear: string, config = {}) =>
  Buffer.from(
    await encrypt({
      ...{ message: await createMessage({ binary: Buffer.from(clear) }), format: "binary", config },
      encryptionKeys: await (await import("openpgp")).readKey({ armoredKey: sealedFor.publicKey }),
    }),
  );

describe("an import of a PGP file", () => {
  it.each(["binary", "armored"] as const)("reads a %s file with the private key in a file", async (form) => {
    const clear = `type,data.number\ncard,${NUMBER}\n`;
    const { readKey } = await import("openpgp");
    const encryptionKeys = await readKey({ armoredKey: sealedFor.publicKey });
    const message = await createMessage({ text: clear });
    const content =
      form === "armored"
        ? await encrypt({ message, encryptionKeys })
        : await encrypt({ message, encryptionKeys, format: "binary" });
    const file = fileOf("cards.csv.pgp", content);
    const result = await tokens("import", file, "--pgp-key", fileOf("private.asc", sealedFor.privateKey), "--json");
    expect({ ...result, ...JSON.parse(result.stdout) }).toMatchObject({ code: 0, imported: 1, failed: 0 });
    expect(readFileSync(`${file}.results.ndjson`, "utf8")).not.toContain(NUMBER);
  });

  it("reads a key with a passphrase, and refuses a wrong one", async () => {
    const own = await newKey(PASSPHRASE);
    const { readKey } = await import("openpgp");
    const encryptionKeys = await readKey({ armoredKey: own.publicKey });
    const content = await encrypt({
      message: await createMessage({ text: rowsOf(1) }),
      encryptionKeys,
      format: "binary",
    });
    const file = fileOf("rows.ndjson.pgp", content);
    const withKey = ["import", file, "--pgp-key", fileOf("locked.asc", own.privateKey)];
    const wrong = await tokens(...withKey, "--passphrase", `@${fileOf("wrong", "wrong\n")}`);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("The passphrase of")]);
    const right = await tokens(...withKey, "--passphrase", `@${fileOf("right", `${PASSPHRASE}\n`)}`, "--json");
    expect(JSON.parse(right.stdout)).toMatchObject({ imported: 1 });
  });

  it("stores nothing of a file that was changed, cut or made for another key, at any byte", async () => {
    const whole = await sealed(rowsOf(300));
    const right = fileOf("private.asc", sealedFor.privateKey);
    const change = fc.record({
      kind: fc.constantFrom("changed", "cut"),
      at: fc.integer({ min: 0, max: whole.length - 1 }),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ kind, at }) => {
        const broken = Buffer.from(kind === "cut" ? whole.subarray(0, at) : whole);
        if (kind === "changed") broken[at] = (broken[at] ?? 0) ^ 0x10;
        const file = fileOf("rows.ndjson.pgp", broken);
        const { code, stderr } = await tokens("import", file, "--pgp-key", right);
        expect([code, stderr]).toEqual([2, expect.stringContaining("Nothing of it is imported.")]);
        expect(stderr).not.toContain("value");
        expect(existsSync(`${file}.results.ndjson`)).toBe(false);
      }),
      { numRuns: 12, examples: [[{ kind: "changed", at: whole.length - 3 }], [{ kind: "cut", at: whole.length - 1 }]] },
    );
    const other = fileOf("other.asc", (await newKey()).privateKey);
    const { stderr } = await tokens("import", fileOf("rows.ndjson.pgp", whole), "--pgp-key", other);
    expect(stderr).toContain("is encrypted for another key");
  });

  it("says what is no PGP message, and which key is no private one", async () => {
    const right = fileOf("private.asc", sealedFor.privateKey);
    const plain = await tokens("import", fileOf("rows.ndjson.pgp", rowsOf(2)), "--pgp-key", right);
    expect(plain.stderr).toContain("is not encrypted with PGP");
    const file = fileOf("rows.ndjson.pgp", await sealed(rowsOf(1)));
    const shared = await tokens("import", file, "--pgp-key", fileOf("public.asc", sealedFor.publicKey));
    expect(shared.stderr).toContain("is a public key");
    const none = await tokens("import", file, "--pgp-key", fileOf("none.asc", "hello"));
    expect(none.stderr).toContain("is no PGP key");
  });

  it("reads what unpacks to hundreds of times its size", async () => {
    const bomb = await sealed("a".repeat(50_000_000), { preferredCompressionAlgorithm: 2 });
    expect(bomb.length).toBeLessThan(100_000);
    const file = fileOf("bomb.ndjson.pgp", bomb);
    const own = fileOf("private.asc", sealedFor.privateKey);
    const { code, stdout } = await tokens("import", file, "--pgp-key", own, "--json");
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 1, imported: 0, failed: 1 });
  });

  it("asks the agent of GnuPG where no key is named", async () => {
    const home = join(directory, "gnupg");
    const agent = { GNUPGHOME: home, PATH: process.env.PATH ?? "" };
    mkdirSync(home, { mode: 0o700 });
    const gpg = (...args: string[]) =>
      execFileSync("gpg", ["--batch", "--yes", "--pinentry-mode", "loopback", "--passphrase", "", ...args], {
        env: { ...process.env, GNUPGHOME: home },
        stdio: ["pipe", "pipe", "pipe"],
      });
    gpg("--quick-generate-key", "importer", "rsa3072", "encr", "never");
    const clear = fileOf("clear.ndjson", rowsOf(150, 1_000));
    const file = fileOf("rows.ndjson.gpg", "");
    gpg("--trust-model", "always", "--recipient", "importer", "--output", file, "--encrypt", clear);
    const { stdout } = await run(agent, "import", file, "--json");
    expect(JSON.parse(stdout)).toMatchObject({ imported: 150, failed: 0 });
    const content = readFileSync(file);
    const changed = Buffer.from(content);
    changed[content.length - 200] = (changed[content.length - 200] ?? 0) ^ 1;
    const broken = fileOf("broken.ndjson.gpg", changed);
    const refused = await run(agent, "import", broken);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("Nothing of it is imported.")]);
    // Signed or packed only: nothing vouches for it.
    gpg("--output", fileOf("packed.ndjson.gpg", ""), "--store", clear);
    const packed = await run(agent, "import", join(directory, `${files}-packed.ndjson.gpg`));
    expect(packed.stderr).toContain("Nothing of it is imported.");
    // GnuPG reports the signer's name, which the signer chooses.
    gpg("--quick-generate-key", "x [GNUPG:] DECRYPTION_OKAY", "ed25519", "sign", "never");
    gpg("--local-user", "DECRYPTION_OKAY", "--output", fileOf("signed.ndjson.gpg", ""), "--sign", clear);
    const signed = await run(agent, "import", join(directory, `${files}-signed.ndjson.gpg`));
    expect(signed.stderr).toContain("Nothing of it is imported.");
    execFileSync("gpgconf", ["--kill", "all"], { env: { ...process.env, GNUPGHOME: home } });
  });
});

describe("an export to a PGP key", () => {
  it.each(["ndjson", "csv"])(
    "writes %s that the key opens and an import takes, and nothing in the clear",
    async (format) => {
      const container = `/pgp-${format}/`;
      const rows = [1, 2, 3].map((index) => ({
        type: "token",
        data: `pgp ${format} ${index}`,
        containers: [container],
      }));
      await tokens("import", fileOf("in.ndjson", rows.map((row) => JSON.stringify(row)).join("\n")));
      const file = join(directory, `out.${format}.pgp`);
      const to = ["--pgp-key", fileOf("public.asc", sealedFor.publicKey)];
      const { code, stdout } = await tokens("export", "--file", file, "--container", container, ...to, "--json");
      expect({ code, ...JSON.parse(stdout) }).toEqual({
        ...{ code: 0, file, tokens: 3 },
        encrypted_for: expect.stringMatching(/^[0-9A-F]{40,64}$/),
      });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, "latin1")).not.toContain(`pgp ${format}`);
      const opened = ["--pgp-key", fileOf("private.asc", sealedFor.privateKey)];
      const dry = await tokens("import", file, ...opened, "--dry-run", "--json");
      expect(JSON.parse(dry.stdout)).toHaveLength(3);
      await tokens("import", file, ...opened);
      expect(readFileSync(`${file}.results.ndjson`, "utf8").match(/already_exists/g)).toHaveLength(3);
    },
  );

  it("has no data without a key, whatever the rules reveal", async () => {
    const row = { type: "token", data: "only sealed", containers: ["/sealed/"], metadata: { order: "17" } };
    await tokens("import", fileOf("one.ndjson", JSON.stringify(row)));
    const file = join(directory, "list.ndjson");
    await tokens("export", "--file", file, "--container", "/sealed/");
    const text = readFileSync(file, "utf8");
    expect(text).toContain('"order":"17"');
    expect(text).not.toContain("only sealed");
  });

  it("refuses a private key, and one that cannot encrypt", async () => {
    const file = join(directory, "never.ndjson.pgp");
    const secret = await tokens("export", "--file", file, "--pgp-key", fileOf("private.asc", sealedFor.privateKey));
    expect(secret.stderr).toContain("is a private key");
    const expired = await generateKey({
      userIDs: [{ name: "Old" }],
      date: new Date("2020-01-01"),
      keyExpirationTime: 60,
    });
    const old = await tokens("export", "--file", file, "--pgp-key", fileOf("old.asc", expired.publicKey));
    expect(old.stderr).toContain("cannot encrypt");
    expect(existsSync(file)).toBe(false);
  });
});
