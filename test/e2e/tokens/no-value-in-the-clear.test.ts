import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeServers, serveHttp, type TestServer } from "../../egress/servers.js";
import type { RestClient, RestRequest } from "../../support/rest.js";
import { type ServerProcess, startServerProcess } from "../../support/server.js";
import { newTenant } from "../../support/tenant.js";

/** Part of every value that must stay secret. */
const CORE = `canary${randomBytes(12).toString("hex")}`;
/** Part of a container's name, which is stored in the clear: a search that misses the canary must find this. */
const CONTROL = `control${randomBytes(12).toString("hex")}`;
let markers = 0;
const secret = () => {
  markers += 1;
  return `${CORE} ${markers}`;
};
const PAN = luhn(
  `4${BigInt(`0x${randomBytes(8).toString("hex")}`)
    .toString()
    .padStart(20, "7")
    .slice(0, 14)}`,
);
const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };

function luhn(digits: string): string {
  const sum = [...digits].reduceRight((total, digit, index) => {
    const doubled = (digits.length - index) % 2 === 1 ? Number(digit) * 2 : Number(digit);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

/** The forms of a text in a file: as it is, in two bytes per character, in hex, and in base64 at each offset. */
function formsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const base64 = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replaceAll("=", "");
    // The characters at the ends depend on the neighbours too.
    return encoded.slice(Math.ceil((offset * 8) / 6) + 1, -2);
  });
  const hex = bytes.toString("hex");
  return [bytes, Buffer.from(text, "utf16le"), ...[hex, hex.toUpperCase(), ...base64].map((form) => Buffer.from(form))];
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function filesWith(files: readonly string[], text: string): string[] {
  const forms = formsOf(text);
  return files.filter((file) => {
    const content = readFileSync(file);
    return forms.some((form) => content.includes(form));
  });
}

describe("values that arrived on every path", () => {
  let server: ServerProcess;
  let destination: TestServer;
  let manage: RestClient;
  let backEnd: RestClient;
  const errorBodies: string[] = [];
  beforeAll(async () => {
    destination = await serveHttp((request, response) => {
      if (request.url?.startsWith("/broken")) request.socket.destroy();
      else request.pipe(response);
    });
    server = await startServerProcess({ EGRESS_ALLOW: `127.0.0.1:${destination.port}`, LOG_LEVEL: "debug" });
    const tenant = await newTenant(server.url, { ...server.environment });
    manage = tenant.manage;
    backEnd = await tenant.backEnd();
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await closeServers();
  });

  const sent = async (status: number, verb: string, path: string, request: RestRequest = {}, client = backEnd) => {
    const response = await client(verb, path, request);
    expect({ path, status: response.status, body: response.status === status ? "" : response.body }).toEqual({
      ...{ path, status, body: "" },
    });
    return response.body;
  };
  /** Rejected requests: the response must not contain the value. */
  const refused = async (status: number, verb: string, path: string, request: RestRequest) => {
    errorBodies.push(JSON.stringify(await sent(status, verb, path, request)));
  };

  async function writeTokens(): Promise<string> {
    const all = {
      ...{ type: "token", data: { [`name ${CORE}`]: secret(), list: [secret()] }, mask: { shown: secret() } },
      ...{ metadata: { key: secret() }, search_indexes: ["{{ data.list[0] }}", secret()], deduplicate_token: true },
      ...{ fingerprint_expression: `{{ data.list }} ${secret()}`, containers: [`/${CONTROL}/`] },
    };
    const headers = { "BT-IDEMPOTENCY-KEY": "stored" };
    const { id } = await sent(201, "POST", "/tokens", { body: all, headers });
    await sent(201, "POST", "/tokens", { body: all });
    const card = { type: "card", data: { number: PAN, cvc: "735" }, search_indexes: ["{{ data.number }}"] };
    const { id: cardId } = await sent(201, "POST", "/tokens", {
      body: card,
      headers: { "BT-IDEMPOTENCY-KEY": "card" },
    });
    const change = { data: { more: secret() }, metadata: { more: secret() }, mask: { more: secret() } };
    await sent(200, "PATCH", `/tokens/${id}`, { headers: { ...MERGE_PATCH, ...headers }, body: change });
    const items = {
      leaf: secret(),
      pan: PAN,
      item: { type: "token", data: secret() },
      card: { ...card, id: "card-2" },
    };
    await sent(200, "POST", "/tokenize", { body: items, headers });
    const query = { query: `metadata.key:"${CORE} 4"` };
    await sent(200, "POST", "/tokens/search", { body: { query: `data:"${secret()}"` } });
    await sent(200, "POST", "/tokens/search", { body: query });
    await sent(200, "POST", "/v2/tokens/search", { body: query });
    await sent(200, "GET", `/tokens?metadata.key=${encodeURIComponent(secret())}`);
    await sent(200, "GET", `/v2/tokens?metadata.key=${encodeURIComponent(secret())}`);
    await sent(200, "POST", "/detokenize", { body: [`{{ ${id} }} ${secret()}`, `{{ token: ${cardId} }}`] });
    return id;
  }

  async function runReactors(id: string): Promise<void> {
    const code = `module.exports = async ({ args, configuration }) => {
      console.log(args, configuration);
      if (args.fails) throw new Error(args.fails);
      return { raw: args, tokenize: args };
    };`;
    const body = { name: "Canary", code, configuration: { SECRET: secret() } };
    const { id: reactor } = await sent(201, "POST", "/reactors", { body }, manage);
    const args = { plain: secret(), value: `{{ ${id} }}`, pan: PAN };
    await sent(200, "POST", `/reactors/${reactor}/react`, { body: { args } });
    // An error thrown by a tenant's own code is shown to its caller only.
    await sent(500, "POST", `/reactors/${reactor}/react`, { body: { args: { fails: secret() } } });
    for (const given of [args, { fails: secret() }]) {
      const run = await sent(202, "POST", `/reactors/${reactor}/react-async`, { body: { args: given } });
      const path = `/reactors/${reactor}/results/${run.asyncReactorRequestId}`;
      await expect.poll(async () => (await backEnd("GET", path)).status).not.toBe(404);
    }
  }

  async function callProxies(id: string): Promise<void> {
    const of = async (path: string) => {
      const destination_url = `http://127.0.0.1:${destination.port}${path}`;
      const request_transform = { code: "module.exports = async ({ args }) => (console.log(args), args);" };
      const body = { name: "Canary", destination_url, configuration: { SECRET: secret() }, request_transform };
      return (await sent(201, "POST", "/proxies", { body }, manage)).key;
    };
    const request = (key: string): RestRequest => ({
      headers: { "BT-PROXY-KEY": key, Authorization: `Bearer ${secret()}`, "X-Token": `{{ ${id} | json: '$.more' }}` },
      body: { value: `{{ ${id} }}`, plain: secret(), pan: PAN },
    });
    const path = `/proxy/${encodeURIComponent(secret())}?q=${encodeURIComponent(secret())}`;
    const echoed = await sent(200, "POST", path, request(await of("")));
    expect(JSON.stringify(echoed)).toContain(CORE);
    await refused(502, "POST", path, request(await of("/broken")));
    const wrong = { ...request(await of("")), body: { a: "{{ not-there }}", b: secret() } };
    await refused(400, "POST", path, wrong);
  }

  async function beRefused(id: string): Promise<void> {
    const bodies: RestRequest[] = [
      { raw: `{"type":"token","data":"${secret()}"` },
      { raw: secret() },
      { body: { type: "card", data: { number: secret() } } },
      { body: { type: "card", data: { number: `${PAN}${PAN}` } } },
      { body: { type: "bank", data: { routing_number: secret(), account_number: PAN } } },
      { body: { type: "token", data: secret(), id: `${secret()}#` } },
      { body: { type: "token", data: secret(), containers: [secret()] } },
      { body: { type: "token", data: secret(), expires_at: secret() } },
      { body: { type: secret(), data: secret() } },
      { body: { type: "token", data: secret(), metadata: { x: [secret()] } } },
      { body: { type: "token", data: secret(), search_indexes: [`{{ "${secret()}" | nothing }}`] } },
      { body: { type: "token", data: secret(), search_indexes: ["{{ data | to_number }}"] } },
      { body: { type: "token", data: secret(), deduplicate_token: secret() } },
    ];
    for (const request of bodies) await refused(400, "POST", "/tokens", request);
    await refused(409, "POST", "/tokens", { body: { id, type: "token", data: secret() } });
    await refused(415, "PATCH", `/tokens/${id}`, { body: { data: secret() } });
    await refused(400, "PATCH", `/tokens/${id}`, { headers: MERGE_PATCH, body: { metadata: secret() } });
    await refused(400, "POST", "/tokenize", { body: { deep: [{ type: "card", data: secret() }] } });
    await refused(400, "POST", "/detokenize", { body: [`{{ ${id} | json: "${secret()}" }}`] });
    await refused(400, "POST", "/detokenize", { body: [`{{ ${id} | to_number }}`] });
    await refused(400, "POST", "/tokens/search", { body: { query: `${secret()}:x` } });
    await refused(401, "GET", `/tokens/${id}`, { key: secret() });
    await refused(404, "GET", `/tokens/${encodeURIComponent(secret())}`, {});
  }

  it("are nowhere in the clear: not in errors, the log, the metrics, tables or the write-ahead log", async () => {
    const id = await writeTokens();
    await runReactors(id);
    await callProxies(id);
    await beRefused(id);
    const read = await sent(200, "GET", `/tokens/${id}`);
    expect(JSON.stringify(read)).toContain(CORE);

    const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
    const audit = JSON.stringify(await sent(200, "GET", "/logs?size=100", {}, manage));
    // PostgreSQL writes everything to its tables before it exits.
    expect(await server.stop()).toBe(0);
    for (const [place, text] of Object.entries({
      errors: errorBodies.join("\n"),
      log: server.said(),
      metrics,
      audit,
    })) {
      const lines = text.split("\n").filter((line) => line.includes(CORE) || line.includes(PAN));
      expect(lines, place).toEqual([]);
    }
    const files = filesBelow(server.environment.CLOAKROOM_DATA_DIR ?? "");
    expect(filesWith(files, CONTROL).some((file) => file.includes("pg_wal"))).toBe(true);
    expect(filesWith(files, CONTROL).some((file) => file.includes("base"))).toBe(true);
    expect(filesWith(files, CORE)).toEqual([]);
    expect(filesWith(files, PAN)).toEqual([]);
  });
});
