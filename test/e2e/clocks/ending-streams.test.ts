import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type FollowLogsResponse, LogService } from "../../../gen/cloakroom/v1/logs_pb.js";
import { startEmbeddedDatabase } from "../../../src/store/embedded/embedded-database.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { movableClock } from "../../support/database-clock.js";
import { newMember } from "../../support/member.js";
import { failureOf, rpcClient } from "../../support/rpc.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn } from "../../support/test-browser.js";

const MINUTE = 60_000;

let ahead = 0;
let server: ServerHere;
let sql: Sql;
let tenant: TestTenant;
/** Moves the clocks of the server and of its database. */
const setAhead = async (milliseconds: number) => {
  ahead = milliseconds;
  await sql`update test_clock set milliseconds = ${milliseconds}`;
};
beforeAll(async () => {
  const prepare = async (dataDir: string) => {
    await using database = await startEmbeddedDatabase({ dataDir, announce: () => {} });
    const owner = connect(database.connection, { connections: 1, statementTimeout: 10_000 });
    await movableClock(owner);
    await owner.end({ timeout: 5 });
  };
  server = await startServerHere({ LOG_LEVEL: "error" }, { clock: { now: () => Date.now() + ahead }, prepare });
  sql = connect(server.vault.ownerAddress, { connections: 1, statementTimeout: 20_000 });
  tenant = await newTenant(server.url, server.environment);
});
afterAll(async () => {
  await sql?.end({ timeout: 5 });
  await server?.[Symbol.asyncDispose]();
});

/** Follows the log. The returned list grows with the ids of entities that rows name. */
function follow(caller: { readonly key?: string; readonly headers?: Readonly<Record<string, string>> }) {
  const logs = rpcClient(LogService, "Connect JSON", { url: server.url, ...caller });
  const leaving = new AbortController();
  const seen: string[] = [];
  let messages = 0;
  const reading = (async () => {
    const rows: AsyncIterable<FollowLogsResponse> = logs.followLogs({}, { signal: leaving.signal });
    for await (const { data } of rows) {
      messages += 1;
      seen.push(...data.map(({ entityId }) => entityId));
    }
  })();
  const failure = failureOf(reading);
  return { seen, failure, hasBegun: () => messages > 0, leave: () => leaving.abort() };
}

it("a stream ends with its key or sign-in, and has nothing of what happens later", async () => {
  const { id } = await tenant.application({ type: "management", permissions: ["log:read"] });
  const body = { expires_at: new Date(Date.now() + 20 * MINUTE).toISOString() };
  const { key } = (await tenant.manage("POST", `/applications/${id}/keys`, { body })).body;
  const email = await newMember(tenant, "AUDITOR", server.environment);
  const browser = await signedIn(tenant.id, email, server.url, server.environment);
  const ofPage = { Cookie: browser.cookieHeader(), "Sec-Fetch-Site": "same-origin", "X-Cloakroom-Console": "1" };
  // The first one polls the log for all.
  const ending = follow({ key });
  await vi.waitFor(() => expect(ending.hasBegun()).toBe(true));
  const [person, lasting] = [follow({ headers: ofPage }), follow({ key: tenant.managementKey })];
  await vi.waitFor(() => expect([person, lasting].every((one) => one.hasBegun())).toBe(true));
  const backEnd = await tenant.backEnd();
  const create = async (): Promise<string> =>
    (await backEnd("POST", "/tokens", { body: { type: "token", data: "value" } })).body.id;
  const allSee = (token: string, ...followers: readonly (typeof ending)[]) =>
    vi.waitFor(() => expect(followers.map(({ seen }) => seen.includes(token))).toEqual(followers.map(() => true)));

  const early = await create();
  await allSee(early, ending, person, lasting);
  // A sign-in ends 15 minutes after its last request.
  await setAhead(16 * MINUTE);
  const middle = await create();
  await allSee(middle, ending, lasting);
  expect(await person.failure).toMatchObject({ code: "Unauthenticated", reason: "unauthenticated" });
  await setAhead(21 * MINUTE);
  const late = await create();
  await allSee(late, lasting);
  const refused = rpcClient(LogService, "Connect JSON", { url: server.url, key }).listLogs({});
  const { code, reason, message } = await failureOf(refused);
  expect(await ending.failure).toMatchObject({ code, reason, message });
  expect(reason).toBe("unauthenticated");
  expect([person.seen.includes(middle), ending.seen.includes(late)]).toEqual([false, false]);
  lasting.leave();
  expect((await lasting.failure).code).toBe("Canceled");
});
