// Needs: curl, gpg
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";
import { generateKey } from "openpgp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgreeingTenant, ClockedServer, type Colleague } from "../e2e/tokens/support/agreeing-people.js";
import { newDirectory } from "../support/new-directory.js";
import type { RestClient } from "../support/rest.js";
import { WalkThrough } from "./support/walk-through.js";

const NUMBER = "4242424242424242";
const RIGHTS = ["token:create", "token:read", "token:export"];
const guide = readFileSync("docs/moving-in.md", "utf8");
const snippets = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = ""]) => JSON.parse(text));
const [mapping, results] = snippets;

describe("the guide to moving in and out, as it is written", () => {
  let server: ClockedServer;
  let people: AgreeingTenant;
  let backEnd: RestClient & { readonly key: string; readonly id: string };
  let walk: WalkThrough;
  const directory = newDirectory();
  const gpgHome = join(directory, "gpg");
  beforeAll(async () => {
    server = await ClockedServer.start();
    people = await AgreeingTenant.create(server);
    const { tenant } = people;
    const rules = [{ priority: 1, container: "/", transform: "reveal", permissions: RIGHTS }];
    backEnd = await tenant.application({ type: "private", permissions: ["token:import"], rules });
    walk = walkWith({ CLOAKROOM_API_KEY: backEnd.key });
    mkdirSync(gpgHome, { mode: 0o700 });
    makeProgram();
  });
  afterAll(async () => {
    execFileSync("gpgconf", ["--kill", "all"], { env: { ...process.env, GNUPGHOME: gpgHome } });
    await server[Symbol.asyncDispose]();
  });

  const fileOf = (name: string, content: string) => writeFileSync(join(directory, name), content);

  function walkWith(variables: Readonly<Record<string, string>>): WalkThrough {
    const { url } = people.tenant;
    const all = { ...variables, BASE: url, KEY: backEnd.key, CLOAKROOM_URL: url, GNUPGHOME: gpgHome };
    const path = [directory, process.env.PATH].join(delimiter);
    return new WalkThrough("docs/moving-in.md", { XDG_CONFIG_HOME: directory, ...all, PATH: path }, url, directory);
  }

  /** The program under the name that it has once it is installed. */
  function makeProgram(): void {
    fileOf("cloakroom", `#!/bin/sh\nexec '${process.execPath}' '${resolve("dist/src/main.js")}' "$@"\n`);
    chmodSync(join(directory, "cloakroom"), 0o755);
  }

  it("imports a vendor's file after a dry run", async () => {
    fileOf("cards.csv", `id,card.id,card.number,card.exp_month,card.exp_year\ncus_1,card_1,${NUMBER},7,2031\n`);
    const printed = await walk.type();
    expect(printed).toContain("4242");
    expect(printed).not.toContain(NUMBER);
    const { body } = await backEnd("GET", "/tokens?metadata.stripe_card=card_1");
    expect(body.data.map(({ data }: { data: { number: string } }) => data.number)).toEqual([NUMBER]);
  });

  it("imports encrypted files, by gpg and by a key in a file", async () => {
    const { privateKey, publicKey } = await generateKey({ userIDs: [{ name: "Shop" }], format: "armored" });
    fileOf("private.asc", privateKey);
    fileOf("public.asc", publicKey);
    fileOf("clear.csv", `id,credit_card.token,credit_card.number,credit_card.expiration\n7,ab12d4,${NUMBER},03/2032\n`);
    const gpg = (...args: string[]) =>
      execFileSync("gpg", ["--batch", "--yes", ...args], {
        cwd: directory,
        env: { ...process.env, GNUPGHOME: gpgHome },
        stdio: "pipe",
      });
    gpg("--import", "private.asc");
    gpg("--trust-model", "always", "--recipient", "Shop", "--output", "cards.csv.gpg", "--encrypt", "clear.csv");
    await walk.type();
    const { body } = await backEnd("GET", "/tokens?metadata.braintree_token=ab12d4");
    expect(body.data).toHaveLength(1);
  });

  it("imports any other file by the mapping file that it shows", async () => {
    fileOf("mapping.json", JSON.stringify(mapping));
    fileOf("cards.csv", `credit_card.number,month,year,customer\n${NUMBER},3,2032,Ada\n`);
    rmSync(join(directory, "cards.csv.results.ndjson"));
    await walk.type();
    const { body } = await backEnd("GET", "/tokens?metadata.customer=Ada");
    expect(body.data).toMatchObject([{ type: "card", containers: ["/pci/high/"], data: { expiration_year: 2032 } }]);
  });

  it("imports from a program, with a result for each row", async () => {
    const printed = JSON.parse(await walk.type());
    const [stored, refused] = results.results;
    expect(printed.results).toMatchObject([
      { ...stored, id: expect.any(String) },
      { ...refused, error: { ...refused.error, detail: expect.any(String) } },
    ]);
  });

  it("exports to an encrypted file", async () => {
    const { publicKey } = await generateKey({ userIDs: [{ name: "Receiver" }], format: "armored" });
    fileOf("receiver.asc", publicKey);
    await walk.type();
    expect(readFileSync(join(directory, "tokens.ndjson.pgp")).includes(NUMBER)).toBe(false);
  });

  it("exports with the approval of a second person", async () => {
    const [colleague] = await people.settled(1);
    const list = async () => (await people.owner.call("TokenExportService/ListTokenExports")).body.data ?? [];
    const [request = "", show = "", approve = ""] = walk.next.trim().split("\n");
    const as = async (person: Colleague | undefined, command: string) => {
      await person?.call("SignInService/WhoAmI");
      const profile = { default: { url: people.tenant.url, sign_in: person?.cookie } };
      mkdirSync(join(directory, "person", "cloakroom"), { recursive: true });
      const file = join(directory, "person", "cloakroom", "config.json");
      writeFileSync(file, JSON.stringify(profile), { mode: 0o600 });
      const env = { ...process.env, XDG_CONFIG_HOME: join(directory, "person") };
      const path = [directory, process.env.PATH].join(delimiter);
      return (await promisify(execFile)("bash", ["-c", command], { env: { ...env, PATH: path } })).stdout;
    };
    await as(people.owner, request.replace("ID", backEnd.id));
    const [{ id }] = await list();
    expect(await as(colleague, show)).toContain("moving out");
    await as(colleague, approve.replace("ID", id));
    expect(await list()).toMatchObject([{ id, state: "approved" }]);
    walk.advance();
    expect(walk.isAtEnd).toBe(true);
  });
});
