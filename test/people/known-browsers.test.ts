import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { asServer, type ServedTenant } from "../../src/audit/tenant-database.js";
import { isTenantId, newUuid, type Uuid } from "../../src/base/ids.js";
import { findKnownBrowser, rememberBrowser } from "../../src/people/known-browser.js";
import { readConfig } from "../../src/settings/config.js";
import { deleteMemberBrowsers, listBrowserSlots } from "../../src/store/people/known-browsers.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { newTenant } from "../support/tenant.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MOST = 10;

let vault: Vault;
let tenant: ServedTenant;
let aheadBy = 0;
const clock = { now: () => Date.now() + aheadBy };
beforeAll(async () => {
  vault = await openVault({
    config: readConfig(inject("serverEnvironment")),
    as: "command",
    announce: () => {},
    clock,
  });
  const { id } = await newTenant();
  if (!isTenantId(id)) throw new Error("the tenant has no id");
  tenant = asServer(vault.database, await vault.keyring.of(id));
});
afterAll(() => vault?.[Symbol.asyncDispose]());

const member = () => ({ memberId: newUuid(), email: "ada@example.com" });
type Member = ReturnType<typeof member>;
const remember = async (of: Member, cookie?: string) =>
  (await tenant.ordinary((tx) => rememberBrowser(tx, of, cookie)))?.reveal();
const isKnown = async (cookie: string) => (await findKnownBrowser(tenant, cookie, "ada@example.com")) !== undefined;
const rowsOf = (memberId: Uuid) => tenant.ordinary((tx) => tx.query(listBrowserSlots, memberId));

describe("the browsers of a member", () => {
  // BROWSERS=1000 searches for minutes.
  const step = fc.record({
    hours: fc.constantFrom(0, 0, 0, 1, 13, 25, 24 * 181),
    browsers: fc.integer({ min: 1, max: 6 }),
    cookie: fc.constantFrom("none", "newest", "oldest"),
  });

  it("are at most ten, and at most ten new ones in any 24 hours, however they come", async () => {
    const searched = fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      aheadBy = 0;
      const own = member();
      const given: { readonly cookie: string; readonly at: number }[] = [];
      for (const { hours, browsers, cookie } of steps) {
        aheadBy += hours * HOUR;
        const shown = cookie === "none" ? undefined : given.at(cookie === "newest" ? -1 : 0)?.cookie;
        const wasKnown = shown !== undefined && (await isKnown(shown));
        const at = clock.now();
        const cookies = await Promise.all(Array.from({ length: browsers }, () => remember(own, shown)));
        for (const one of cookies) if (one !== undefined) given.push({ cookie: one, at });
        const known = await Promise.all(given.map((one) => isKnown(one.cookie)));
        // A browser that was forgotten is given its cookie once more.
        const different = new Set(given.filter((_, index) => known[index]).map((one) => one.cookie));
        const seen = {
          isKnownGivenAnother: wasKnown && cookies.some((one) => one !== undefined),
          isAboveBound: (await rowsOf(own.memberId)).length > MOST || different.size > MOST,
          isAboveRate: given.filter((one) => one.at > at - DAY).length > MOST,
          isLosing: given.some((one, index) => one.at > at - DAY && !known[index]),
        };
        expect(seen).toEqual({ isKnownGivenAnother: false, isAboveBound: false, isAboveRate: false, isLosing: false });
      }
    });
    await fc.assert(searched, { numRuns: Number(process.env.BROWSERS ?? 30) });
  });

  it("take each other's place after a day, the oldest first", async () => {
    aheadBy = 0;
    const own = member();
    const first: (string | undefined)[] = [];
    for (let browser = 0; browser < MOST; browser += 1) first.push(await remember(own));
    expect(await remember(own)).toBeUndefined();
    aheadBy = DAY + HOUR;
    const next = await remember(own);
    const [oldest = "", second = ""] = first;
    expect([await isKnown(next ?? ""), await isKnown(oldest), await isKnown(second)]).toEqual([true, false, true]);
  });

  it("keep their place when the browser comes back with the cookie of another member", async () => {
    aheadBy = 0;
    const [one, other] = [member(), { ...member(), email: "bob@example.com" }];
    let cookie = await remember(one);
    for (let turn = 0; turn < 12; turn += 1) {
      const theirs = await remember(other, cookie);
      expect(await remember(other, theirs)).toBeUndefined();
      cookie = await remember(one, theirs);
      expect(await isKnown(cookie ?? "")).toBe(true);
    }
    expect([await rowsOf(one.memberId), await rowsOf(other.memberId)].map(({ length }) => length)).toEqual([1, 1]);
  });

  it("are known for 180 days, and no longer once the member's are deleted", async () => {
    aheadBy = 0;
    const own = member();
    const cookie = (await remember(own)) ?? "";
    aheadBy = 180 * DAY - HOUR;
    expect(await isKnown(cookie)).toBe(true);
    aheadBy = 180 * DAY + HOUR;
    expect(await isKnown(cookie)).toBe(false);
    aheadBy = 0;
    await tenant.ordinary(async (tx) => tx.enqueue(deleteMemberBrowsers, own.memberId));
    expect(await isKnown(cookie)).toBe(false);
  });

  it("are only those of cookies that a server made for the address", async () => {
    aheadBy = 0;
    const own = member();
    const cookie = (await remember(own)) ?? "";
    const foreign = cookie.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    expect([await isKnown(foreign), await isKnown("")]).toEqual([false, false]);
    expect(await findKnownBrowser(tenant, cookie, "bob@example.com")).toBeUndefined();
  });
});
