// Computes: 20 s
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { monthStart } from "../../../src/store/audit/log-partitions.js";
import { cloakroom } from "../../support/command.js";
import { newDirectory } from "../../support/new-directory.js";
import { PostgresCluster } from "../../support/postgres-cluster.js";
import { startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import {
  archiveMonth,
  expectAlteredFileNamed,
  type OldTenant,
  oldRows,
  verifyArchived,
} from "../support/archived-vault.js";

/** A vault without tenants, which archives into a directory of its own. */
async function newVault(stack: AsyncDisposableStack): Promise<Readonly<Record<string, string>>> {
  const directory = newDirectory();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const database = stack.use(await PostgresCluster.start());
  const archive = join(directory, "archive");
  mkdirSync(archive);
  const environment = {
    DATABASE_URL: await database.login("vault", { attributes: "createrole" }),
    CLOAKROOM_DATA_DIR: join(directory, "data"),
    CLOAKROOM_LOG_ARCHIVE: archive,
    CLOAKROOM_AUDIT_RETENTION_DAYS: "40",
  };
  expect(await cloakroom(environment, "init")).toMatchObject({ code: 0 });
  return environment;
}

it("names an altered file of the archive for its tenant, and no other", async () => {
  await using stack = new AsyncDisposableStack();
  await expectAlteredFileNamed(await newVault(stack));
});

/** What a person who may write to the archive does to a file. `at` is between 0 and 1. */
const ALTERATIONS: Readonly<Record<string, (file: Buffer, at: number, other: Buffer) => Buffer | undefined>> = {
  "one bit": (file, at) => {
    const index = Math.min(file.length - 1, Math.floor(at * file.length));
    return Buffer.concat([file.subarray(0, index), Buffer.of((file[index] ?? 0) ^ 1), file.subarray(index + 1)]);
  },
  cut: (file, at) => file.subarray(0, Math.floor(at * file.length)),
  appended: (file, _at, other) => Buffer.concat([file, other]),
  "another tenant's": (_file, _at, other) => other,
  "a line left out": (file, at) => inLines(file, at, () => []),
  "a line twice": (file, at) => inLines(file, at, (line) => [line, line]),
  "a line of another tenant": (file, at, other) => inLines(file, at, () => [other.toString().split("\n")[1] ?? ""]),
  gone: () => undefined,
  untouched: (file) => file,
};

function inLines(file: Buffer, at: number, change: (line: string) => readonly string[]): Buffer {
  const lines = file.toString().trimEnd().split("\n");
  const index = Math.min(lines.length - 1, Math.floor(at * lines.length));
  return Buffer.from(`${lines.flatMap((line, n) => (n === index ? change(line) : [line])).join("\n")}\n`);
}

it("finds exactly the files that lists refuse, and lists show no other row, whatever is done to the files", async () => {
  await using stack = new AsyncDisposableStack();
  const environment = await newVault(stack);
  const month = monthStart(new Date(), -3);
  const tenants = await archiveMonth(environment, month);
  const server = stack.use(await startReplica(environment));
  const listed = ({ managementKey }: OldTenant) => oldRows(restClient(server.url, managementKey), month);
  const before = await Promise.all(tenants.map(async (tenant) => (await listed(tenant)).rows));
  const whole = tenants.map(({ file }) => readFileSync(file));
  const alteration = fc.record({
    kind: fc.constantFrom(...Object.keys(ALTERATIONS)),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    other: fc.nat(tenants.length - 1),
  });
  let refusals = 0;
  await fc.assert(
    fc.asyncProperty(fc.tuple(...tenants.map(() => alteration)), async (alterations) => {
      for (const [index, { kind, at, other }] of alterations.entries()) {
        const [file, from] = [whole[index] ?? Buffer.of(), whole[other] ?? Buffer.of()];
        const written = ALTERATIONS[kind]?.(file, at, from);
        const path = tenants[index]?.file ?? "";
        if (written) writeFileSync(path, written);
        else rmSync(path, { force: true });
      }
      const lists = await Promise.all(tenants.map(listed));
      const refused = tenants.filter((_, index) => lists[index]?.status === 503).map(({ id }) => id);
      for (const [index, { status, rows }] of lists.entries()) {
        if (status !== 503) expect([status, rows]).toEqual([200, before[index]]);
      }
      const { named } = await verifyArchived(environment, month);
      expect(named.map(([id]) => id).toSorted()).toEqual(refused.toSorted());
      refusals += refused.length;
    }),
    { numRuns: 15, endOnFailure: true },
  );
  expect(refusals).toBeGreaterThan(0);
});

it("asks for the setting before the vault is opened", async () => {
  const { code, stderr } = await cloakroom({ DATABASE_URL: "postgres://none" }, "audit", "verify", "--archive");
  expect([code, stderr]).toEqual([2, expect.stringContaining("--archive needs CLOAKROOM_LOG_ARCHIVE")]);
});
