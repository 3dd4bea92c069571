import { writeFileSync } from "node:fs";
import { startBenchServer } from "./bench-server.js";
import { measureDatabaseFloors } from "./database-floors.js";
import { measureFloors } from "./floors.js";
import { manyTenantRows } from "./many-tenants.js";
import { proxyRows } from "./proxies.js";
import { reactorRows, runnerMemory } from "./reactors.js";
import { streamedMemory } from "./streaming.js";
import { Table } from "./table.js";
import { tokenRows } from "./tokens.js";

/**
 * Measures floors and ourselves in one run, on this machine: figures of two runs compare by their ratios only. Prints a
 * table and writes it as JSON to the file that `--json` names.
 */
const table = new Table();
await measureFloors(table);
{
  await using server = await startBenchServer();
  await measureDatabaseFloors(table, server);
  await tokenRows(table, server);
  await manyTenantRows(table, server);
}
{
  await using server = await startBenchServer({ CLOAKROOM_EGRESS_ALLOW: "127.0.0.1" });
  await proxyRows(table, server);
  await reactorRows(table, server);
}
{
  await using server = await startBenchServer({ CLOAKROOM_EGRESS_ALLOW: "127.0.0.1" });
  await runnerMemory(server);
  await streamedMemory(server);
}
const file = process.argv[process.argv.indexOf("--json") + 1];
if (process.argv.includes("--json") && file) writeFileSync(file, `${JSON.stringify(table.rows, undefined, 2)}\n`);
