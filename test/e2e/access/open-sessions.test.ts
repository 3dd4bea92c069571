import { createHash } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { newMember } from "../../support/member.js";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn } from "../../support/test-browser.js";

const VALUE = "a value that no list shows";
const FIELDS = ["id", "tenant_id", "application_id", "authorized_by", "in_frame", "transform", "permissions", "rules"];
const TIMES = ["created_at", "expires_at"];

const readBy = (transform: string) => ({ priority: 1, container: "/", transform, permissions: ["token:read"] });
/** Rights to give, what the list says they show, and what a read of a token in the container then shows. */
const RIGHTS = [
  { rights: { permissions: ["token:read"] }, transform: "mask", data: "***" },
  { rights: { rules: [readBy("reveal")] }, transform: "reveal", data: VALUE },
  { rights: { rules: [readBy("redact")] }, transform: "redact", data: undefined },
  { rights: { permissions: ["token:use"] }, transform: undefined, data: undefined },
] as const;

/** A step of a chain: a session is begun, authorized with some rights, or ended. */
const STEP = fc.record({ act: fc.constantFrom("begin", "authorize", "end"), at: fc.nat(), right: fc.nat(3) });

interface Begun {
  readonly key: string;
  readonly nonce: string;
  right: number | undefined;
  id: string | undefined;
  isOpen: boolean;
}

/** What a secret could be given away as. */
function formsOf(secret: string): readonly string[] {
  const hash = createHash("sha256").update(secret).digest();
  return [secret, hash.toString("hex"), hash.toString("base64"), hash.toString("base64url")];
}

describe("open sessions", () => {
  let tenant: TestTenant;
  let page: RestClient & { readonly key: string; readonly id: string };
  let backEnd: RestClient & { readonly id: string };
  let token: string;
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
    page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const body = { type: "token", data: VALUE, mask: "***" };
    token = (await backEnd("POST", "/tokens", { body })).body.id;
  });
  const begin = async (client: RestClient = page) => (await client("POST", "/sessions")).body;
  const listed = async (query = "") => (await tenant.manage("GET", `/sessions?size=100${query}`)).body.data;
  const idOf = async (before: readonly { id: string }[]) => {
    const known = new Set(before.map(({ id }) => id));
    return (await listed()).find(({ id }: { id: string }) => !known.has(id)).id;
  };

  it("are listed without a key, nonce or value, show what they may show, and end at once, in any order of steps", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 12 }), async (steps) => {
        const all: Begun[] = [];
        for (const { act, at, right } of steps) {
          const one = all[at % Math.max(all.length, 1)];
          if (act === "begin" || one === undefined) {
            const before = await listed();
            const { session_key, nonce } = await begin();
            all.push({ key: session_key, nonce, right: undefined, id: await idOf(before), isOpen: true });
          } else if (act === "authorize") {
            const body = { nonce: one.nonce, ...RIGHTS[right]?.rights };
            const { status } = await backEnd("POST", "/sessions/authorize", { body });
            expect(status).toBe(!one.isOpen ? 404 : one.right === undefined ? 200 : 409);
            if (status === 200) one.right = right;
          } else {
            const { status } = await tenant.manage("DELETE", `/sessions/${one.id}`);
            expect(status).toBe(one.isOpen ? 204 : 404);
            one.isOpen = false;
          }
        }
        await expectListed(all);
      }),
      { numRuns: 12 },
    );
  });

  async function expectListed(all: readonly Begun[]): Promise<void> {
    const data = await listed();
    const text = JSON.stringify(data);
    for (const { key, nonce } of all) {
      for (const form of [key, nonce].flatMap(formsOf)) expect(text).not.toContain(form);
    }
    expect(text).not.toContain(VALUE);
    for (const each of data) expect([...FIELDS, ...TIMES]).toEqual(expect.arrayContaining(Object.keys(each)));
    for (const { id, key, right, isOpen } of all) {
      const found = data.find((each: { id: string }) => each.id === id);
      const read = await page("GET", `/tokens/${token}`, { key });
      if (!isOpen) {
        expect(found).toBe(undefined);
        expect(read.status).toBe(401);
        continue;
      }
      const given = right === undefined ? undefined : RIGHTS[right];
      expect(found).toMatchObject({ application_id: page.id, in_frame: false });
      expect([found.authorized_by, found.transform]).toEqual([given ? backEnd.id : undefined, given?.transform]);
      expect([read.status, read.body.data]).toEqual([given?.transform ? 200 : 403, given?.data]);
    }
  }

  it("show no more than their authorizer may now, and nothing once it is gone", async () => {
    const authorizer = await tenant.application({ type: "private", rules: [readBy("reveal")] });
    const { nonce } = await begin();
    await authorizer("POST", "/sessions/authorize", { body: { nonce, rules: [readBy("reveal")] } });
    const shown = async () =>
      (await listed()).find((one: { authorized_by?: string }) => one.authorized_by === authorizer.id);
    expect((await shown()).transform).toBe("reveal");
    await tenant.manage("PUT", `/applications/${authorizer.id}`, { body: { name: "Less", rules: [readBy("mask")] } });
    expect((await shown()).transform).toBe("mask");
    await tenant.manage("DELETE", `/applications/${authorizer.id}`);
    expect((await shown()).transform).toBe(undefined);
    const ended = await tenant.application({ type: "public", permissions: ["token:create"] });
    await begin(ended);
    const [{ id }] = await listed(`&application_id=${ended.id}`);
    await tenant.manage("DELETE", `/applications/${ended.id}`);
    expect(await listed(`&application_id=${ended.id}`)).toEqual([]);
    expect((await tenant.manage("DELETE", `/sessions/${id}`)).status).toBe(404);
  });

  it("are listed by application and page, newest first, and no other tenant lists or ends them", async () => {
    const other = await tenant.application({ type: "public", permissions: ["token:create"] });
    for (let count = 0; count < 3; count += 1) await begin(other);
    const { body } = await tenant.manage("GET", `/sessions?application_id=${other.id}&size=2&page=2`);
    expect(body.pagination).toEqual({ total_items: 3, page_number: 2, page_size: 2, total_pages: 2 });
    const [first, ...rest] = await listed(`&application_id=${other.id}`);
    expect(rest.map(({ created_at: at }: { created_at: string }) => at <= first.created_at)).toEqual([true, true]);
    const otherTenant = await newTenant();
    expect((await otherTenant.manage("GET", "/sessions")).body.data).toEqual([]);
    expect((await otherTenant.manage("DELETE", `/sessions/${first.id}`)).status).toBe(404);
  });

  it("are refused to keys of programs and to sessions, and named in errors about their ids", async () => {
    for (const client of [page, backEnd]) expect((await client("GET", "/sessions")).status).toBe(403);
    const { session_key } = await begin();
    expect((await page("GET", "/sessions", { key: session_key })).status).toBe(403);
    const reader = await tenant.application({ type: "management", permissions: ["application:read"] });
    const [one] = (await reader("GET", "/sessions")).body.data;
    expect((await reader("DELETE", `/sessions/${one.id}`)).status).toBe(403);
    const { status, body } = await tenant.manage("DELETE", "/sessions/x");
    expect([status, Object.keys(body.errors)]).toEqual([400, ["id"]]);
  });

  it("are ended by people as applications are: a DEVELOPER ends those of its own applications", async () => {
    const developer = await signedIn(tenant.id, await newMember(tenant, "DEVELOPER"));
    const auditor = await signedIn(tenant.id, await newMember(tenant, "AUDITOR"));
    const definition = { name: "Mine", type: "public", permissions: ["token:create"] };
    const made = await developer.call("ApplicationService/CreateApplication", definition);
    await page("POST", "/sessions", { key: made.body.key });
    await begin();
    const idFrom = async (applicationId: string) => (await listed(`&application_id=${applicationId}`))[0].id;
    const end = async (id: string) => (await developer.call("SessionService/DeleteSession", { id })).status;
    expect(await end(await idFrom(page.id))).toBe(403);
    expect(await end(await idFrom(made.body.id))).toBe(200);
    expect((await auditor.call("SessionService/ListSessions", {})).status).toBe(200);
  });
});
