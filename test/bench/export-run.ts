import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { generateKey } from "openpgp";
import { TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import { Authenticator } from "../../src/access/authenticate.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { systemClock } from "../../src/base/clock.js";
import { readConfig } from "../../src/settings/config.js";
import { listTokenKeys } from "../../src/store/tokens/token-keys.js";
import { isLargeToken } from "../../src/store/tokens/token-reads.js";
import { NONE_EXPIRED, type TokenKey, type TokenSelection } from "../../src/store/tokens/token-selection.js";
import { findTokenRows } from "../../src/tokens/read-rows.js";
import { openToken } from "../../src/tokens/sealing.js";
import { openVault } from "../../src/vault/vault.js";
import { type BenchServer, startBenchServer } from "./bench-server.js";
import { fill } from "./fill.js";
import { ownProcessorTime, processorTime, residentMemory } from "./processor-time.js";
import { say } from "./table.js";
import { makeApplication } from "./token-requests.js";
import { newKey } from "./vault-process.js";

/** The first round warms the server up. */
const ROUNDS = 3;
/** Tokens that the floor reads at once, as many as a message of an export has. */
const PAGE = 100;
const ALL: TokenSelection = {
  source: { kind: "all" },
  also: [],
  isNarrow: false,
  scopes: [],
  hasLargeScopes: true,
  without: NONE_EXPIRED,
};

/** A vault to export from, and its server's processes. */
export interface ExportedVault {
  readonly url: string;
  readonly managementKey: string;
  readonly pid: number;
  readonly databasePid: number;
}

/** Exports `count` tokens in the clear, by a stream and by the command. The floor reads and opens them and nothing else. */
export async function exportRun(count: number): Promise<void> {
  await using server = await startBenchServer();
  const { managementKey, pid, databasePid } = server;
  const key = await makeApplication(server, managementKey);
  await fill(server, key, count);
  const vault = { url: `http://${server.host}:${server.port}`, managementKey, pid, databasePid };
  for (let round = 0; round < ROUNDS; round += 1) {
    await exportByStream(vault, count);
    await openAll(server, key);
  }
  await exportByCommand(vault);
}

/** Reads and opens all tokens of a key's tenant in this process, a page at a time. */
async function openAll(server: BenchServer, key: string): Promise<void> {
  const config = readConfig(server.environment);
  await using vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
  const { tenantId } = await new Authenticator(vault.database, vault.keyring, systemClock).authenticate(
    key,
    EMPTY_CONTEXT,
  );
  const keys = await vault.keyring.of(tenantId);
  const before = process.cpuUsage();
  let tokens = 0;
  for (let after: TokenKey | undefined; ; ) {
    const page = { selection: ALL, order: "newest_first", after, offset: 0, limit: PAGE } as const;
    const rows = await vault.database.of(tenantId).ordinary(async (tx) => {
      const found = await tx.query(listTokenKeys, page);
      return findTokenRows(
        tx,
        found.map(({ id }) => id),
        PAGE,
      );
    });
    for (const row of rows) if (row && !isLargeToken(row)) openToken(keys, row);
    tokens += rows.length;
    after = rows.at(-1);
    if (after === undefined) break;
  }
  const { user, system } = process.cpuUsage(before);
  const us = (user + system) / tokens;
  say(
    `  the floor, reading and opening ${tokens}: ${Math.round(1e6 / us)} tokens/s of processor time, ${us.toFixed(1)} us a token`,
  );
}

/** Prints the tokens that the server sends by a stream in a second of its processor time, without its database. */
export async function exportByStream(vault: ExportedVault, most: number): Promise<void> {
  const key = await exportingKey(vault);
  const withKey: Interceptor = (next) => (request) => {
    request.header.set("BT-API-KEY", key);
    return next(request);
  };
  const client = createClient(TokenService, createGrpcTransport({ baseUrl: vault.url, interceptors: [withKey] }));
  const measured = measureExport(vault);
  let tokens = 0;
  for await (const { data } of client.exportTokens({})) {
    tokens += data.length;
    measured.sample();
    if (tokens >= most) break;
  }
  say(measured.report("by a stream", tokens));
}

/** The same by the command, encrypted, with the command's own processor time. */
async function exportByCommand(vault: ExportedVault): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-export-"));
  try {
    const { publicKey } = await generateKey({ userIDs: [{ email: "receiver@example.com" }] });
    const [file, pgpKey] = [join(directory, "tokens.ndjson.pgp"), join(directory, "receiver.asc")];
    writeFileSync(pgpKey, publicKey);
    const key = await exportingKey(vault);
    const environment = { PATH: process.env.PATH, CLOAKROOM_URL: vault.url, CLOAKROOM_API_KEY: key };
    const parameters = ["tokens", "export", "--file", file, "--pgp-key", pgpKey, "--json"];
    const measured = measureExport(vault);
    const command = spawn(process.execPath, ["dist/src/main.js", ...parameters], {
      env: { ...environment, XDG_CONFIG_HOME: directory },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    command.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    let own = 0;
    const sampling = setInterval(() => {
      measured.sample();
      own = ownProcessorTime(command.pid ?? 0) || own;
    }, 100);
    await once(command, "close");
    clearInterval(sampling);
    if (command.exitCode !== 0) throw new Error(`the export ended with ${command.exitCode}`);
    const { tokens } = JSON.parse(said);
    say(measured.report("by the command", Number(tokens)));
    say(`  the command: ${Math.round((Number(tokens) / own) * 1e6)} tokens/s of its processor time, with PGP`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function exportingKey({ url, managementKey }: ExportedVault): Promise<string> {
  const rules = [{ priority: 1, container: "/", transform: "reveal", permissions: ["token:export"] }];
  return newKey(url, managementKey, { name: "Export", type: "private", rules });
}

function measureExport({ pid, databasePid }: ExportedVault) {
  const [since, server, database] = [performance.now(), ownProcessorTime(pid), processorTime(databasePid)];
  let most = 0;
  return {
    sample() {
      most = Math.max(most, residentMemory(pid));
    },
    report(how: string, tokens: number): string {
      const seconds = (performance.now() - since) / 1_000;
      const [ownUs, databaseUs] = [ownProcessorTime(pid) - server, processorTime(databasePid) - database];
      const rate = Math.round((tokens / ownUs) * 1e6);
      return (
        `exported ${tokens} tokens ${how}: ${Math.round(tokens / seconds)} tokens/s, ${rate} of the server's processor time; ` +
        `${(ownUs / tokens).toFixed(1)} us of the server and ${(databaseUs / tokens).toFixed(1)} us of its database a token; ` +
        `${Math.round(most / 1_048_576)} MB at most`
      );
    },
  };
}
