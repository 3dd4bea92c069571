import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { exportByStream } from "./export-run.js";
import { processorTime, residentMemory } from "./processor-time.js";
import { QuietReader } from "./quiet-reader.js";
import { say } from "./table.js";
import { call, freePort, killed, newKey, postmasterOf, startServer } from "./vault-process.js";

const KILLS = 10;
/** Tokens of the export that is measured. */
const EXPORTED = 100_000;
/** Of one line of results, about. */
const RESULT_BYTES = 140;
/** For which a quiet tenant is measured alone. */
const ALONE_MS = 10_000;

/**
 * Imports cards by the command, and kills the server or the command ten times on the way. Fails unless every row is
 * stored once. Prints rows a second over all, with the waits after kills, the memory of both processes, and the latency of
 * another tenant's reads.
 */
export async function importRun(rows: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "cloakroom-import-"));
  // PostgreSQL's own account must be able to enter.
  chmodSync(directory, 0o755);
  try {
    const file = join(directory, "cards.csv");
    await writeCards(file, rows);
    await runImport(directory, file, rows);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runImport(directory: string, file: string, rows: number): Promise<void> {
  const port = await freePort();
  const settings = {
    ...{ CLOAKROOM_DATA_DIR: join(directory, "data"), CLOAKROOM_RATE_LIMITS: "off" },
    ...{ CLOAKROOM_PORT: String(port), CLOAKROOM_ADMIN_PORT: "0" },
  };
  const environment = { PATH: process.env.PATH, ...settings };
  const url = `http://127.0.0.1:${port}`;
  let server = await startServer(environment, /first-management-key\n/);
  const managementKey = readFileSync(join(directory, "data", "first-management-key"), "utf8").trim();
  const key = await importingKey(url, managementKey);
  const caller = { PATH: process.env.PATH, CLOAKROOM_URL: url, CLOAKROOM_API_KEY: key, XDG_CONFIG_HOME: directory };
  const start = () =>
    spawn(process.execPath, ["dist/src/main.js", "tokens", "import", file], { env: caller, stdio: "ignore" });
  const results = `${file}.results.ndjson`;
  const memory: Record<"server" | "command", number[]> = { server: [], command: [] };
  const quiet = await QuietReader.of({ host: "127.0.0.1", port, environment: settings });
  const alone = await quiet.read(AbortSignal.timeout(ALONE_MS));
  const isOver = new AbortController();
  const beside = quiet.read(isOver.signal);
  const since = performance.now();
  let command = start();
  let kills = 0;
  for (;;) {
    await pause(250);
    memory.server.push(residentOf(server.pid));
    memory.command.push(residentOf(command.pid));
    if (command.exitCode !== null) break;
    const done = existsSync(results) ? statSync(results).size / RESULT_BYTES : 0;
    if (kills >= KILLS || done < ((kills + 0.5) * rows) / (KILLS + 1)) continue;
    kills += 1;
    say(`  kill ${kills}: the ${kills % 2 === 1 ? "server" : "command"}, after ${Math.round(done)} rows`);
    if (kills % 2 === 1) {
      await killed(server);
      server = await startServer(environment, /Health at/);
    } else {
      await killed(command);
      command = start();
    }
  }
  const seconds = (performance.now() - since) / 1_000;
  isOver.abort();
  if (command.exitCode !== 0) throw new Error(`the import ended with ${command.exitCode}`);
  await requireEachOnce(results, rows);
  say(`imported ${rows} cards in ${seconds.toFixed(0)} s with ${kills} kills: ${Math.round(rows / seconds)} rows/s`);
  for (const [name, samples] of Object.entries(memory)) say(`  ${name}: ${memoryText(samples)}`);
  say(`  a quiet tenant's reads beside it: ${await beside}; alone: ${alone}`);
  say(
    `  processor time since its last start: server and database ${Math.round(processorTime(server.pid ?? 0) / 1e6)} s`,
  );
  const pid = server.pid ?? 0;
  say("  right after it, while the server seals the import's log, at 26 us a row:");
  await exportByStream(
    { url, managementKey, pid, databasePid: postmasterOf(join(directory, "data")) },
    Math.min(rows, EXPORTED),
  );
  server.kill("SIGTERM");
  await once(server, "exit");
}

/** Distinct numbers with a valid check digit. */
async function writeCards(file: string, rows: number): Promise<void> {
  const target = createWriteStream(file);
  target.write("type,data.number,data.expiration_month,data.expiration_year,metadata.order\n");
  for (let row = 0; row < rows; row += 1) {
    const digits = `4${String(row).padStart(14, "0")}`;
    const line = `card,${digits}${checkDigitOf(digits)},12,2031,${row}\n`;
    if (!target.write(line)) await once(target, "drain");
  }
  target.end();
  await once(target, "close");
}

function checkDigitOf(digits: string): number {
  const sum = [...digits].reduce((total, digit, index) => {
    const doubled = Number(digit) * (index % 2 === 0 ? 2 : 1);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return (10 - (sum % 10)) % 10;
}

/** Every position in order, each with an id and a fingerprint of its own. @throws {Error} otherwise. */
async function requireEachOnce(results: string, rows: number): Promise<void> {
  const [ids, fingerprints] = [new Set<string>(), new Set<string>()];
  let position = 0;
  for await (const line of createInterface({ input: createReadStream(results) })) {
    const result = JSON.parse(line);
    if (result.import_id !== undefined) continue;
    position += 1;
    if (result.position !== position) throw new Error(`row ${position} has the position ${result.position}`);
    ids.add(result.id);
    fingerprints.add(result.fingerprint);
  }
  if (position !== rows || ids.size !== rows || fingerprints.size !== rows) {
    throw new Error(`${position} rows, ${ids.size} ids and ${fingerprints.size} fingerprints, and not ${rows}`);
  }
}

/** The key of an application, in a tenant whose tokens all have fingerprints. */
async function importingKey(url: string, managementKey: string): Promise<string> {
  const settings = { fingerprint_tokens: "true" };
  await call(`${url}/tenants/self`, managementKey, { method: "PUT", body: { name: "Import", settings } });
  const permissions = ["token:import", "token:create"];
  return newKey(url, managementKey, { name: "Import", type: "private", permissions });
}

/** Megabytes. 0: the process is gone. */
function residentOf(pid: number | undefined): number {
  try {
    return residentMemory(pid ?? 0) / 1_048_576;
  } catch {
    return 0;
  }
}

function memoryText(samples: readonly number[]): string {
  const sorted = samples.filter((megabytes) => megabytes > 0).toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  return `${at(0.5)} MB at the median, ${at(1)} MB at most`;
}
