import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { connect } from "../../../src/store/postgres/connect.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { JSON_TYPE } from "../token-requests.js";
import { freePort } from "../vault-process.js";
import { ask, type Peer, type RunningPeer, startPeer, textIn } from "./peer.js";

const LOGIN = "locker";
const HEADERS = { ...JSON_TYPE, "x-tenant-id": "public" };
const OWNER = { merchant_id: "bench", merchant_customer_id: "bench" };

/**
 * hyperswitch-card-vault: `locker`, built with `--no-default-features` beside its directory `migrations`. That build
 * neither authenticates nor caches, and no build records reads.
 */
export const CARD_VAULT: Peer = {
  name: "card-vault",
  program: "locker",
  async start(program, directory): Promise<RunningPeer> {
    await using stack = new AsyncDisposableStack();
    const cluster = stack.use(await PostgresCluster.start({ settings: { fsync: "on" }, onDisk: true }));
    const url = new URL(await cluster.login(LOGIN));
    await migrate(url.href, join(dirname(program), "migrations"));
    const port = await freePort();
    mkdirSync(join(directory, "config"));
    // A release build reads the one, and a debug build the other.
    for (const name of ["production.toml", "development.toml"]) {
      writeFileSync(join(directory, "config", name), configuration(port, url));
    }
    const { pid } = stack.use(await startPeer(program, [], { cwd: directory, port }));
    const body = (n: number) => ({
      ...OWNER,
      merchant_customer_id: `customer ${n}`,
      card: { card_number: cardNumber(n), name_on_card: null, card_exp_month: "12", card_exp_year: "2030" },
      ttl: null,
    });
    const stored = await ask(port, "/data/add", { headers: HEADERS, body: body(0) });
    const wanted = {
      ...OWNER,
      merchant_customer_id: "customer 0",
      card_reference: textIn(stored, "payload", "card_reference"),
    };
    const post = (path: string, sent: object) => ({
      ...{ method: "POST", path, headers: HEADERS },
      body: Buffer.from(JSON.stringify(sent)),
    });
    const owned = stack.move();
    return {
      target: { host: "127.0.0.1", port, pid, databasePid: cluster.postmaster },
      // A card that is stored already would be found by its hash and not be written.
      create: { expect: 200, request: (n) => post("/data/add", body(n + 1)) },
      read: { expect: 200, request: () => post("/data/retrieve", wanted) },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  },
};

/** A number of 16 digits with the right check digit, another for each `n`. */
export function cardNumber(n: number): string {
  const digits = `4${String(n).padStart(14, "0")}`;
  const sum = [...digits].reduce((total, digit, index) => {
    const value = index % 2 === 0 ? 2 * Number(digit) : Number(digit);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

async function migrate(url: string, directory: string): Promise<void> {
  const sql = connect({ url }, { connections: 1, statementTimeout: 0 });
  try {
    for (const name of readdirSync(directory).sort()) {
      const text = name.startsWith(".") ? "" : readFileSync(join(directory, name, "up.sql"), "utf8");
      // "create index concurrently" runs in no transaction, and thus alone.
      const isAlone = /\bconcurrently\b/i.test(text);
      for (const statement of isAlone ? text.split(/;\s*$/m) : [text]) await sql.unsafe(statement).simple();
    }
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function configuration(port: number, { hostname, port: databasePort, username, password, pathname }: URL): string {
  const masterKey = "feffe9928665731c6d6a8f9467308308".repeat(2);
  return `
[log.console]
enabled = false
level = "ERROR"
log_format = "default"
[server]
host = "127.0.0.1"
port = ${port}
[limit]
request_count = 1
duration = 60
[database]
username = "${username}"
password = "${password}"
host = "${hostname}"
port = ${databasePort}
dbname = "${pathname.slice(1)}"
pool_size = 16
[cache]
tti = 7200
max_capacity = 5000
[secrets]
locker_private_key = ""
[tenant_secrets]
public = { master_key = "${masterKey}", public_key = "", schema = "public" }
[external_key_manager]
mode = "disabled"
[metrics]
mode = "disabled"
[runtime_config]
mode = "disabled"
`;
}
