import { writeFileSync } from "node:fs";
import { compareWith } from "./against.js";
import { startBenchServer } from "./bench-server.js";
import { compareClient } from "./client.js";
import { consoleTimes } from "./console.js";
import { measureDatabaseFloors } from "./database-floors.js";
import { eventsRun } from "./events-run.js";
import { exportRun } from "./export-run.js";
import { fairTurnsRows } from "./fair-turns.js";
import { measureEcho, measureGrpcEcho } from "./floors.js";
import { hiddenDigitTimes } from "./hidden-digits.js";
import { hostedFieldTimes } from "./hosted-fields.js";
import { heldBodyRows, longestHolds } from "./hostile-bodies.js";
import { importRun } from "./import-run.js";
import { listRows } from "./lists.js";
import { manyTenantRows } from "./many-tenants.js";
import { readOptions, wholeNumber } from "./options.js";
import { compareWithPeers } from "./peers/compare.js";
import { proxyRows } from "./proxies.js";
import { reactorRows, runnerMemory } from "./reactors.js";
import { rotationRows } from "./rotation.js";
import { streamedMemory } from "./streaming.js";
import { Table } from "./table.js";
import { tenantShares } from "./tenant-shares.js";
import { tokenRows } from "./tokens.js";

/**
 * Measures the floors and the server in one run on this machine: only ratios compare across runs. Prints a table and
 * writes it as JSON to the file given by `--json`. Lists have `--tokens` tokens.
 * `--against COMMIT` instead measures that commit's build next to this one, in `--rounds` rounds of each operation
 * whose name contains `--only`. `--peers DIR` instead measures creates and reads beside other vaults whose programs an
 * operator has put there, `locker` and `bao`, in as many rounds. `--turns` instead measures a quiet tenant beside the loads of others whose name contains
 * `--only`. `--import` instead imports `--tokens` cards in one run that is killed ten times. `--export` instead
 * exports `--tokens` tokens by a stream and by the command. `--hidden-digits` instead compares the times of frames' requests
 * for two cards. `--events SECONDS` instead sends effects for so long, kills
 * server and database, and counts their events. `--tenants 1000,10000` instead
 * compares requests over so many tenants with those over one, in as many rounds. `--client` instead measures
 * `@cloakroom/client` next to the generator, in as many rounds.
 */
const options = readOptions({
  json: { type: "string" },
  tokens: { type: "string", default: "1000000" },
  against: { type: "string" },
  peers: { type: "string" },
  client: { type: "boolean", default: false },
  turns: { type: "boolean", default: false },
  import: { type: "boolean", default: false },
  export: { type: "boolean", default: false },
  "hidden-digits": { type: "boolean", default: false },
  events: { type: "string" },
  tenants: { type: "string" },
  rounds: { type: "string", default: "5" },
  only: { type: "string", default: "" },
});
const rounds = wholeNumber("rounds", options.rounds);
const tokens = wholeNumber("tokens", options.tokens);
if (options.against !== undefined) {
  const compared = await compareWith(options.against, { rounds, only: options.only });
  if (options.json) writeFileSync(options.json, `${JSON.stringify(compared, undefined, 2)}\n`);
  process.exit();
}
if (options.peers !== undefined) {
  const measured = await compareWithPeers(options.peers, { rounds, duration: 3_000 });
  if (options.json) writeFileSync(options.json, `${JSON.stringify(measured, undefined, 2)}\n`);
  process.exit();
}
if (options.client) {
  await compareClient(rounds);
  process.exit();
}
if (options.import) {
  await importRun(tokens);
  process.exit();
}
if (options.export) {
  await exportRun(tokens);
  process.exit();
}
if (options.events !== undefined) {
  await eventsRun(wholeNumber("events", options.events));
  process.exit();
}
if (options.tenants !== undefined) {
  await tenantShares(
    options.tenants.split(",").map((each) => wholeNumber("tenants", each)),
    rounds,
  );
  process.exit();
}
if (options["hidden-digits"]) {
  {
    await using server = await startBenchServer();
    await hiddenDigitTimes(server);
  }
  // Not before the server and its database have ended.
  process.exit();
}
if (options.turns) {
  {
    await using server = await startBenchServer();
    await using other = await startBenchServer();
    await fairTurnsRows(server, other, options.only);
  }
  // Not before the server and its database have ended.
  process.exit();
}
const table = new Table();
table.add(await measureEcho());
table.add(await measureGrpcEcho());
{
  await using server = await startBenchServer();
  await measureDatabaseFloors(table, server);
  await tokenRows(table, server);
  await manyTenantRows(table, server);
}
{
  await using server = await startBenchServer();
  await rotationRows(table, server);
}
{
  await using server = await startBenchServer();
  await listRows(table, server, tokens);
}
{
  await using server = await startBenchServer({ CLOAKROOM_EGRESS_ALLOW: "127.0.0.1" });
  await proxyRows(table, server);
  await reactorRows(table, server);
}
{
  await using server = await startBenchServer({ CLOAKROOM_EGRESS_ALLOW: "127.0.0.1" });
  await longestHolds(server);
  await heldBodyRows(table, server);
}
{
  await using server = await startBenchServer();
  await using other = await startBenchServer();
  await fairTurnsRows(server, other, options.only);
}
{
  await using server = await startBenchServer({ CLOAKROOM_EGRESS_ALLOW: "127.0.0.1" });
  await runnerMemory(server);
  await streamedMemory(server);
}
{
  await using server = await startBenchServer();
  await hostedFieldTimes(server);
  await consoleTimes(server);
}
if (options.json) writeFileSync(options.json, `${JSON.stringify(table.rows, undefined, 2)}\n`);
