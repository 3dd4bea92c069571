import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChainHistory } from "../../src/audit/chain/chain-history.js";
import { logEntry } from "../../src/audit/log-entry.js";
import { MINUTE_MS } from "../../src/base/clock.js";
import type { TenantId } from "../../src/base/ids.js";
import { createKeyFile } from "../../src/crypto/key-file.js";
import { createCheckValue } from "../../src/crypto/root-key.js";
import { logSealsJob } from "../../src/jobs/log-seals.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { openDatabase } from "../../src/store/database.js";
import { startEmbeddedDatabase } from "../../src/store/embedded/embedded-database.js";
import { migrate } from "../../src/store/migrate.js";
import { connect } from "../../src/store/postgres/connect.js";
import { insertRootKey } from "../../src/store/tenancy/root-keys.js";
import { Keyring } from "../../src/tenancy/keyring.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { readOnlyNumber } from "./options.js";
import { childNamed, ownProcessorTime, processorTime } from "./processor-time.js";
import { say } from "./table.js";

/** Processor time of sealing one minute of many tenants' logs: `npm run bench:sealing -- 10000`. */
const TENANTS = readOnlyNumber("TENANTS", 10_000);
const ROWS = 3;
const MINUTES = 4;
const AT_ONCE = 50;

const directory = mkdtempSync(join(tmpdir(), "cloakroom-sealing-"));
const embedded = await startEmbeddedDatabase({ dataDir: join(directory, "data"), announce: () => {} });
await migrate(embedded.connection);
const owner = connect(embedded.connection, { connections: 1, statementTimeout: 20_000 });
const root = await createKeyFile(join(directory, "root.key"));
await insertRootKey(owner, { id: root.id, check_value: await createCheckValue(root) });
const clock = { time: Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 360 * MINUTE_MS, now: () => clock.time };
const database = openDatabase({ address: embedded.connection, sharedConnections: 8, bulkConnections: 4, clock });
const keyring = new Keyring(database, { find: async () => root });
const failed: unknown[] = [];
const job = logSealsJob({
  ...{ database, keyring, clock, history: new ChainHistory(), retentionDays: 0, archiving: undefined },
  onFailure: (_, error) => failed.push(error),
  onBroken: (tenantId) => failed.push(tenantId),
});

const tenants: TenantId[] = [];
for (let made = 0; made < TENANTS; made += AT_ONCE) {
  const batch = Array.from({ length: Math.min(AT_ONCE, TENANTS - made) }, (_, n) =>
    provisionTenant({ database, rootKey: root, keyring }, { name: `Tenant ${made + n}`, ownerEmail: "a@example.com" }),
  );
  tenants.push(...(await Promise.all(batch)).map(({ tenantId }) => tenantId));
  if ((made + AT_ONCE) % 1_000 === 0) say(`  made ${made + AT_ONCE} of ${TENANTS} tenants`);
}

const postmaster = childNamed(process.pid, "-D");
for (let minute = 1; minute <= MINUTES; minute += 1) {
  for (let from = 0; from < TENANTS; from += AT_ONCE) await Promise.all(tenants.slice(from, from + AT_ONCE).map(log));
  clock.time += 3 * MINUTE_MS;
  const [node, postgres] = [ownProcessorTime(process.pid), processorTime(postmaster)];
  await job.run(new AbortController().signal);
  if (failed.length > 0) throw new Error(`${failed.length} logs were not sealed, the first: ${failed[0]}`);
  const each = (micros: number) => `${(micros / 1_000 / TENANTS).toFixed(2)} ms`;
  const name = minute === 1 ? "the first minute, with attestations" : `minute ${minute}`;
  const [ofNode, ofDatabase] = [ownProcessorTime(process.pid) - node, processorTime(postmaster) - postgres];
  say(`${name}: ${TENANTS} logs of ${ROWS} rows, for each: Node ${each(ofNode)}, database ${each(ofDatabase)}`);
}
await job.end?.();
await database[Symbol.asyncDispose]();
await owner.end({ timeout: 5 });
await embedded.stop();
rmSync(directory, { recursive: true, force: true });

async function log(tenantId: TenantId): Promise<void> {
  await database.of(tenantId).shared(async (tx) => {
    for (let row = 0; row < ROWS; row += 1) writeLog(tx, logEntry("token", `token-${row}`, "read"));
  });
}
