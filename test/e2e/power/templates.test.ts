import { beforeEach, describe, expect, it } from "vitest";
import { newMember } from "../../support/member.js";
import { memberWithPasskey } from "../../support/passkeys.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

const PAGE = {
  ...{ name: "Shop", permissions: ["token:create"], allowedOrigins: ["https://shop.example"] },
  templates: [{ name: "card", mask: { number: "{{ data.number | reveal_last: 4 }}" } }],
};
const SHOWS_ALL = [{ name: "card", mask: { number: "{{ data.number }}" } }];

let tenant: TestTenant;
beforeEach(async () => {
  tenant = await newTenant();
});

const update = (by: TestBrowser, id: string, change: object) =>
  by.call("ApplicationService/UpdateApplication", { ...PAGE, id, ...change });

async function shopOf(by: TestBrowser): Promise<string> {
  const { status, body } = await by.call("ApplicationService/CreateApplication", { ...PAGE, type: "public" });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.id;
}

describe("an ADMIN without a second factor, who reads masks", () => {
  it("neither changes the templates of an application nor lets its pages call without a frame", async () => {
    const thief = await signedIn(tenant.id, await newMember(tenant, "ADMIN"));
    const shop = await shopOf(thief);
    const changes = [{ templates: SHOWS_ALL }, { templates: [] }, { allowPageRequests: true }, { allowedOrigins: [] }];
    for (const change of changes) {
      const refused = await update(thief, shop, change);
      expect(refused.status, JSON.stringify(change)).toBe(403);
      expect(refused.body.message).toContain("needs a second factor");
    }
    const renamed = { name: "Another name", allowedOrigins: ["https://other.example"] };
    expect((await update(thief, shop, renamed)).status).toBe(200);
    const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
    expect((await update(admin, shop, { templates: SHOWS_ALL })).status).toBe(200);
  });
});

describe("the log of changed code", () => {
  it("has templates and page requests as the API writes them", async () => {
    const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
    const shop = await shopOf(admin);
    const templates = [{ name: "card", search_indexes: ["{{ data.number | slice: -4, 4 }}"], deduplicate_token: true }];
    const changed = await update(admin, shop, { templates, allowPageRequests: true });
    expect(changed.status, JSON.stringify(changed.body)).toBe(200);
    const [row] = (await tenant.manage("GET", `/logs?entity_id=${shop}&operation=update&start_date=2020-01-01`)).body
      .data;
    expect(row.changes).toEqual([
      {
        ...{ field: "templates", truncated: false, before: PAGE.templates },
        after: templates,
      },
      { field: "allow_page_requests", before: false, after: true, truncated: false },
      { field: "revision", before: 0, after: expect.any(Number), truncated: false },
    ]);
  });

  it("has what a proxy and a reactor act as, and no secret of them", async () => {
    const { id: application } = await tenant.backEnd();
    const code = "module.exports = async () => ({ raw: 'SECRET' });";
    const { body: reactor } = await tenant.manage("POST", "/reactors", {
      body: { name: "SECRET", code, configuration: { KEY: "SECRET" } },
    });
    const { body: proxy } = await tenant.manage("POST", "/proxies", {
      body: { name: "SECRET", destination_url: "https://example.com/SECRET?k=SECRET", configuration: { K: "SECRET" } },
    });
    const changed = { name: "SECRET", application: { id: application }, code };
    expect((await tenant.manage("PUT", `/reactors/${reactor.id}`, { body: changed })).status).toBe(200);
    const moved = {
      name: "SECRET",
      destination_url: "https://evil.example/SECRET",
      request_reactor_id: reactor.id,
    };
    expect((await tenant.manage("PUT", `/proxies/${proxy.id}`, { body: moved })).status).toBe(200);
    const rows = [reactor, proxy].map(({ id }) => tenant.manage("GET", `/logs?entity_id=${id}&size=20`));
    const log = (await Promise.all(rows)).flatMap(({ body }) => body.data);
    expect(JSON.stringify(log)).not.toContain("SECRET");
    expect(log.flatMap(({ changes }) => changes ?? [])).toEqual(
      expect.arrayContaining([
        { field: "application_id", before: null, after: application, truncated: false },
        { field: "destination_host", before: null, after: "example.com", truncated: false },
      ]),
    );
  });
});

it("templates are changed in the form in which the RPC shows them", async () => {
  const { browser: admin } = await memberWithPasskey(tenant, "ADMIN");
  const shop = await shopOf(admin);
  const templates = [{ name: "t", searchIndexes: ["{{ data | slice: -4, 4 }}"], deduplicateToken: true }];
  expect((await update(admin, shop, { templates })).body.templates).toEqual(templates);
  const read = await admin.call("ApplicationService/GetApplication", { id: shop });
  expect((await update(admin, shop, { templates: read.body.templates })).status).toBe(200);
});
