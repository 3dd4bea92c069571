// Peers are programs of others, which no installation here has: programs with the same interface stand in for them. They
// refuse whatever the peers' own handlers would.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { passesLuhn } from "../../../src/base/luhn.js";
import { newDirectory } from "../../support/new-directory.js";
import { CARD_VAULT, cardNumber } from "./card-vault.js";
import { compareWithPeers } from "./compare.js";
import { OPENBAO } from "./openbao.js";
import type { Peer, PeerRequest, RunningPeer } from "./peer.js";

/** A server that answers by the body of a function of (method, path, headers, sent, state): a status and a body. */
const program = (port: string, answer: string) => `#!${process.execPath}
const { createServer } = require("node:http");
const { readFileSync } = require("node:fs");
const state = { cards: new Map() };
const answer = (method, path, headers, sent) => { ${answer} };
createServer((request, response) => {
  let text = "";
  request.on("data", (chunk) => (text += chunk)).on("end", () => {
    const [status, body] = answer(request.method, request.url, request.headers, text === "" ? {} : JSON.parse(text));
    const bytes = body === undefined ? "" : JSON.stringify(body);
    response.writeHead(status, { "Content-Length": Buffer.byteLength(bytes) }).end(bytes);
  });
}).listen(${port}, "127.0.0.1");
`;

const LOCKER = program(
  `Number(/\\nport = (\\d+)/.exec(readFileSync("config/production.toml", "utf8"))[1])`,
  `
  if (path === "/") return [404];
  if (headers["x-tenant-id"] !== "public" || method !== "POST") return [400, {}];
  if (path === "/data/add") {
    if (!("ttl" in sent) || !/^[0-9]{16}$/.test(sent.card.card_number) || state.cards.has(sent.card.card_number)) return [400, {}];
    const card_reference = "card " + state.cards.size;
    state.cards.set(sent.card.card_number, 1).set(sent.merchant_id + sent.merchant_customer_id + card_reference, sent.card);
    return [200, { status: "Ok", payload: { card_reference, duplication_check: null, dedup: null } }];
  }
  const card = state.cards.get(sent.merchant_id + sent.merchant_customer_id + sent.card_reference);
  return card ? [200, { status: "Ok", payload: { card, enc_card_data: null } }] : [404, {}];`,
);

const BAO = program(
  `Number(/\\n  address = "127.0.0.1:(\\d+)"/.exec(readFileSync(process.argv[3].replace("-config=", ""), "utf8"))[1])`,
  `
  if (path === "/v1/sys/init" && method === "PUT") return [200, { keys: ["key"], root_token: "token" }];
  if (path === "/v1/sys/unseal") return (state.open = sent.key === "key") ? [200, { sealed: false }] : [400, {}];
  if (!state.open) return [503, { errors: ["sealed"] }];
  if (headers["x-vault-token"] !== "token") return [403, {}];
  if (path === "/v1/sys/mounts/cards") return (state.mounted = sent.type === "kv") ? [204] : [400, {}];
  if (!state.mounted) return [404, {}];
  if (method === "POST") return state.cards.set(path, sent), [204];
  return state.cards.has(path) ? [200, { data: state.cards.get(path) }] : [404, {}];`,
);

/** A directory as an operator fills it. */
function programs(): string {
  const directory = newDirectory();
  // Outside of this package, whose files are modules.
  writeFileSync(join(directory, "package.json"), "{}");
  for (const [name, text] of Object.entries({ locker: LOCKER, bao: BAO })) {
    writeFileSync(join(directory, name), text);
    chmodSync(join(directory, name), 0o755);
  }
  mkdirSync(join(directory, "migrations", "2026-01-01_tables"), { recursive: true });
  writeFileSync(join(directory, "migrations", "2026-01-01_tables", "up.sql"), "create table locker (id int);");
  return directory;
}

async function send({ target }: RunningPeer, { request, expect: status }: PeerRequest, n: number) {
  const { method, path, headers, body } = request(n);
  const response = await fetch(`http://${target.host}:${target.port}${path}`, {
    method,
    headers,
    ...(body && { body }),
  });
  expect(response.status).toBe(status);
  return response.text();
}

it.each<Peer>([CARD_VAULT, OPENBAO])(
  "a peer ($name) is set up, stores another card each time, and returns one",
  async (peer) => {
    const directory = programs();
    await using running = await peer.start(join(directory, peer.program), newDirectory());
    for (const n of [1, 2]) await send(running, running.create, n);
    expect(await send(running, running.read, 1)).toMatch(/4\d{15}/);
  },
);

it("a peer that ends while it starts is reported with what it printed", async () => {
  const directory = programs();
  writeFileSync(join(directory, "bao"), `#!${process.execPath}\nconsole.error("no such storage"); process.exit(3);`);
  const starting = OPENBAO.start(join(directory, "bao"), newDirectory());
  await expect(starting).rejects.toThrow(/ended with 3: no such storage/);
});

it("a directory without a program names those that are looked for", async () => {
  const comparing = compareWithPeers(newDirectory(), { rounds: 1, duration: 1 });
  await expect(comparing).rejects.toThrow(/none of the programs locker, bao/);
});

it("numbers of cards have the right check digit and are all different", () => {
  const numbers = Array.from({ length: 1_000 }, (_, n) => cardNumber(n * 7_919));
  expect(numbers.every(passesLuhn)).toBe(true);
  expect(new Set(numbers).size).toBe(1_000);
});
