import { readFileSync, writeFileSync } from "node:fs";
import { startBenchServer } from "../bench-server.js";
import { measureEcho } from "../floors.js";
import { tenantPlans } from "../many-tenants.js";
import { readOptions, wholeNumber } from "../options.js";
import { overload } from "../overload.js";
import { say } from "../table.js";
import { startBigDatabase } from "./big-database.js";
import { atConnections } from "./connections.js";
import { endure } from "./endurance.js";
import { performancePage } from "./page.js";
import { atProcesses } from "./processes.js";
import { type Repeated, repeatedly } from "./repeated.js";
import { atSizes } from "./sizes.js";
import { startUp } from "./start-up.js";
import { keepWrittenSections } from "./written-sections.js";

/** Takes about 40 minutes and 40 GB of disk; `--largest 10000 --minutes 1` takes eight minutes. */
const options = readOptions({
  largest: { type: "string", default: "10000000" },
  minutes: { type: "string", default: "10" },
});
const largest = wholeNumber("largest", options.largest);
const minutes = wholeNumber("minutes", options.minutes);

say("bare echo");
const echoes = [await measureEcho()];
say("start-up");
const started = await startUp();
say("connections and tenants");
const small = await onEmbedded(async (server) => ({
  connections: await atConnections(server, [1, 8, 32, 128]),
  tenants: await atTenants(server),
}));
say("twice what can be served");
const overloads = await onEmbedded(overload);
say(`memory over ${minutes} minutes`);
const endurance = await onEmbedded((server) => endure(server, minutes));
say("processes on one database, and tokens in one tenant");
const large = await onBigDatabase();
say("bare echo");
echoes.push(await measureEcho());
const findings = { ...small, ...large, echoes, overloads, endurance, startUp: started };
const PAGE = "docs/performance.md";
writeFileSync(PAGE, keepWrittenSections(performancePage(findings), readFileSync(PAGE, "utf8")));
say("wrote docs/performance.md");

async function onEmbedded<T>(use: (server: Awaited<ReturnType<typeof startBenchServer>>) => Promise<T>): Promise<T> {
  await using server = await startBenchServer();
  return await use(server);
}

async function atTenants(server: Awaited<ReturnType<typeof startBenchServer>>) {
  const measured: (Repeated & { readonly tenants: number })[] = [];
  for (const tenants of [1, 1_000]) {
    for (const plan of await tenantPlans(server, tenants)) {
      measured.push({ ...(await repeatedly(server, plan)), tenants });
    }
  }
  return measured;
}

async function onBigDatabase() {
  await using database = await startBigDatabase();
  await using server = await database.serve();
  const processes = await atProcesses(server, database);
  const sizes = [10_000, 1_000_000, 10_000_000].filter((size) => size <= largest);
  const { measured, plans } = await atSizes(server, database, sizes);
  return { processes, sizes: measured, plans, sizesVersion: database.version };
}
