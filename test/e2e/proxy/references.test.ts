import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type RestClient, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, startDestination } from "./support/destination.js";
import { type MadeProxy, makeProxy } from "./support/proxies.js";

const NUMBER = "5555341244441115";
const CARD = { number: NUMBER, expiration_month: 11, expiration_year: 2035 };
const SECRET = 's3cr3t & <of> "mine" é';

describe("references in a proxied request", () => {
  let tenant: TestTenant;
  let destination: Destination;
  let proxy: MadeProxy;
  let backEnd: RestClient & { readonly key: string; readonly id: string };
  let card: string;
  let text: string;

  beforeAll(async () => {
    tenant = await newTenant();
    destination = await startDestination();
    backEnd = await tenant.backEnd();
    proxy = await makeProxy(tenant, {
      destination_url: `${destination.url}/base`,
      configuration: { API_KEY: "conf-1" },
    });
    card = (await backEnd("POST", "/tokens", { body: { type: "card", data: CARD } })).body.id;
    text = (await backEnd("POST", "/tokens", { body: { type: "token", data: SECRET, metadata: { colour: "red" } } }))
      .body.id;
  });
  afterAll(() => destination[Symbol.asyncDispose]());

  const send = (raw: string, type = "application/json", path = "", headers: Record<string, string> = {}) =>
    backEnd("POST", `/proxy${path}`, {
      raw,
      headers: { "BT-PROXY-KEY": proxy.key, "Content-Type": type, ...headers },
    });
  const received = async (...sent: Parameters<typeof send>) => {
    const { status, body } = await send(...sent);
    expect({ status, body }).toMatchObject({ status: 200 });
    return destination.last().body.toString();
  };
  const rowsOf = async (operation: string) => {
    const { body } = await tenant.manage("GET", "/logs?size=100");
    return body.data.filter((row: { operation: string }) => row.operation === operation);
  };

  it("become values of their type in JSON; every other byte is unchanged", async () => {
    const sent = `{ "z":1.0e2,\n "a" : "{{ ${card} }}", "m":"{{${card} | json: '$.expiration_month'}}", "n":{{ ${card} | json: "$.expiration_year" }},"id":12345678901234567890,"t":"<{{ ${text} }}>","i":"{{ token: ${text} | json: '$.metadata.colour' }}" }`;
    const body = await received(sent);
    expect(body).toMatch(
      /^\{ "z":1\.0e2,\n "a" : \{.*\}, "m":"11", "n":2035,"id":12345678901234567890,"t":"<.*>","i":"red" \}$/s,
    );
    expect(JSON.parse(body)).toMatchObject({ a: CARD, t: `<${SECRET}>` });
  });

  it("are found in +json, forms, XML and text, and encoded for each", async () => {
    expect(JSON.parse(await received(`{"a":"{{ ${text} }}"}`, "application/vnd.api+json; charset=utf-8"))).toEqual({
      a: SECRET,
    });
    const form = await received(
      `a=b&n={{ ${text} }}&c={{${card} | json: '$.number'}}`,
      "application/x-www-form-urlencoded",
    );
    expect(Object.fromEntries(new URLSearchParams(form))).toEqual({ a: "b", n: SECRET, c: NUMBER });
    expect(await received(`<a>{{ ${text} }}</a>`, "text/xml")).toBe(
      "<a>s3cr3t &amp; &lt;of&gt; &quot;mine&quot; é</a>",
    );
    expect(await received(`{{ ${text} }}!`, "text/plain")).toBe(`${SECRET}!`);
  });

  it("are found in path, query and headers", async () => {
    const pan = `{{ ${card} | json: '$.number' }}`;
    await send("{}", undefined, `/cards/${encodeURIComponent(`{{${text}}}`)}/x?n=${encodeURIComponent(pan)}&p=%20`, {
      "X-Card": `n=${pan};`,
      Authorization: "Bearer {{ config: API_KEY }}",
    });
    expect(destination.last().line).toBe(`POST /base/cards/${encodeURIComponent(SECRET)}/x?n=${NUMBER}&p=%20 HTTP/1.1`);
    expect(destination.last().header("x-card")).toBe(`n=${NUMBER};`);
    expect(destination.last().header("authorization")).toBe("Bearer conf-1");
  });

  it("are ignored in inserted values and in responses", async () => {
    const nested = (await backEnd("POST", "/tokens", { body: { type: "token", data: `{{ ${card} }}` } })).body.id;
    expect(await received(`{{ ${nested} }}`, "text/plain")).toBe(`{{ ${card} }}`);
  });

  it("leave one row for the proxy and one for each distinct token", async () => {
    const before = { invoke: (await rowsOf("invoke")).length, use: (await rowsOf("use")).length };
    await send(`["{{ ${text} }}","{{ ${text} }}","{{ ${card} }}"]`, undefined, `?a={{${card}}}`);
    const [invoked, ...earlier] = await rowsOf("invoke");
    expect(earlier).toHaveLength(before.invoke);
    expect(invoked).toMatchObject({ entity_type: "proxy", entity_id: proxy.id, actor_id: backEnd.id });
    const used = await rowsOf("use");
    expect(used).toHaveLength(before.use + 2);
    expect(
      used
        .slice(0, 2)
        .map((row: { entity_id: string }) => row.entity_id)
        .sort(),
    ).toEqual([card, text].sort());
  });

  it("to missing tokens fail the whole request, and their ids are listed", async () => {
    const asked = destination.requests.length;
    const { status, body, headers } = await send(`["{{ ${text} }}","{{ none-such }}","{{ nor-this | json: '$.a' }}"]`);
    expect({ status, body }).toEqual({
      status: 400,
      body: {
        proxy_error: expect.objectContaining({
          status: 400,
          title: "Invalid proxy request",
          detail: "Failed to detokenize some tokens: none-such, nor-this. Tokens were not found.",
          errors: {},
        }),
      },
    });
    expect(headers.has("BT-PROXY-DESTINATION-STATUS")).toBe(false);
    expect(destination.requests).toHaveLength(asked);
  });

  it.each([
    ["an unknown filter", "{{ ID | frobnicate }}"],
    ["no filter after the bar", "{{ ID | }}"],
    ["an unknown prefix", "{{ tokens: ID }}"],
    ["nothing", "{{ }}"],
    ["a path that matches several values", "{{ ID | json: '$..*' }}"],
    ["a configuration that is not there", "{{ config: NONE }}"],
    ["a filter that fails", "{{ ID | to_number }}"],
  ])("with %s are a 400 that names the part and the position, without a value", async (_, expression) => {
    const asked = destination.requests.length;
    const { status, body } = await send(`{"fine":1,\n "a": "${expression.replace("ID", text)}"}`);
    expect(status).toBe(400);
    expect(body.proxy_error.errors).toEqual({ body: [expect.stringContaining("(line 2, column 7)")] });
    expect(JSON.stringify(body)).not.toContain("s3cr3t");
    expect(destination.requests).toHaveLength(asked);
  });

  it.each([
    ["body", "{{ ID | json: '$.numbr' }}", "line 1, column 6"],
    ["query", "{{ ID | json: '$.numbr' }}", "character 4"],
    ["headers.X-Card", "{{ ID | json: '$.numbr' | last4 }}", "character 1"],
    ["path", "{{token: ID | json: '$.number'}}", "character 2"],
  ])(
    "in the %s that find nothing are a 400 that repeats the expression, unless it has a default",
    async (part, expression, position) => {
      const written = (filter: string) => expression.replace("ID", card).replace(/\s*\}\}$/, `${filter} }}`);
      const sent = (given: string) => {
        const raw = part === "body" ? JSON.stringify({ a: given }) : "{}";
        const target = { path: `/${encodeURIComponent(given)}`, query: `?a=${encodeURIComponent(given)}` };
        const path = part === "path" || part === "query" ? target[part] : "";
        return send(raw, undefined, path, part === "headers.X-Card" ? { "X-Card": given } : {});
      };
      const asked = destination.requests.length;
      const { status, body } = await sent(written(""));
      const shown = written("").replace("{{token", "{{ token");
      expect({ status, detail: body.proxy_error.detail }).toEqual({
        status: 400,
        detail: `expression found nothing: ${shown}`,
      });
      expect(body.proxy_error.errors).toEqual({ [part]: [`expression found nothing: ${shown} (${position})`] });
      expect(JSON.stringify(body)).not.toContain(NUMBER);
      expect(destination.requests).toHaveLength(asked);
      expect((await sent(written(" | default: 'none'"))).status).toBe(200);
      const { line, body: arrived, header } = destination.last();
      expect([line, arrived.toString(), header("x-card")].join()).toContain("none");
    },
  );

  it("to data that a rule hides are a 400, not an empty text", async () => {
    const rule = { priority: 1, container: "/", transform: "redact", permissions: ["token:use"] };
    const blind = await tenant.application({ type: "private", rules: [rule] });
    const asked = destination.requests.length;
    for (const expression of [`{{ ${text} }}`, `{{ ${card} | json: '$.number' }}`]) {
      const { status, body } = await blind("POST", "/proxy", {
        raw: JSON.stringify({ a: expression }),
        headers: { "BT-PROXY-KEY": proxy.key, "Content-Type": "application/json" },
      });
      expect([status, body.proxy_error.detail]).toEqual([400, `expression found nothing: ${expression}`]);
    }
    expect(destination.requests).toHaveLength(asked);
  });

  it("become numbers and booleans in JSON if they are cast", async () => {
    const month = `${card} | json: '$.expiration_month'`;
    const sent = `{"text":"{{ ${month} }}","cast":"{{ ${month} | to_number }}","in":"<{{ ${month} | to_number }}>","yes":"{{ ${month} | minus: 10 | to_boolean }}"}`;
    expect(await received(sent)).toBe('{"text":"11","cast":11,"in":"<11>","yes":true}');
  });

  it("cannot split a header in two, and the value is not repeated", async () => {
    const evil = (await backEnd("POST", "/tokens", { body: { type: "token", data: "inner\r\nX-Injected: yes" } })).body
      .id;
    const asked = destination.requests.length;
    const { status, body } = await send("{}", undefined, "", { "X-A": `{{ ${evil} }}` });
    expect(status).toBe(400);
    expect(Object.keys(body.proxy_error.errors)).toEqual(["headers.X-A"]);
    expect(JSON.stringify(body)).not.toContain("inner");
    expect(destination.requests).toHaveLength(asked);
    expect((await send("{}", undefined, `/x/{{${evil}}}?q={{${evil}}}`)).status).toBe(200);
    expect(destination.last().line).not.toMatch(/\s X-Injected/);
  });

  it("are limited to a hundred", async () => {
    const ids = Array.from({ length: 101 }, (_, n) => `{{ missing-${n} }}`);
    expect((await send(JSON.stringify(ids))).body.proxy_error.detail).toContain("at most 100 tokens");
    const hundred = await send(JSON.stringify(Array.from({ length: 500 }, () => `{{ ${text} }}`)));
    expect(hundred.status).toBe(200);
  });

  it("are limited to bodies of 5 MB", async () => {
    const large = `"${"x".repeat(5 * 1024 * 1024)}"`;
    const { status, body } = await send(large);
    expect({ status, code: body.proxy_error.code }).toEqual({ status: 413, code: "body_too_large" });
    expect((await received("x".repeat(5 * 1024 * 1024), "text/plain")).length).toBe(5 * 1024 * 1024);
  });

  it("need token:use on the token's container, and are shown as the rule says", async () => {
    const rule = (container: string, transform: string, permissions: string[]) => ({
      priority: 1,
      container,
      transform,
      permissions,
    });
    const other = (
      await backEnd("POST", "/tokens", { body: { type: "token", data: "hidden", containers: ["/other/"] } })
    ).body.id;
    const clerk = await tenant.application({ type: "private", rules: [rule("/general/", "mask", ["token:use"])] });
    const asClerk = (raw: string) =>
      clerk("POST", "/proxy", { raw, headers: { "BT-PROXY-KEY": proxy.key, "Content-Type": "text/plain" } });
    const refused = await asClerk(`{{ ${other} }}`);
    expect({ status: refused.status, code: refused.body.proxy_error.code }).toEqual({
      status: 403,
      code: "permission_denied",
    });
    const masked = (
      await backEnd("POST", "/tokens", {
        body: { type: "token", data: "visible", mask: "{{ data | reveal_last: 2 }}", containers: ["/general/"] },
      })
    ).body.id;
    expect((await asClerk(`{{ ${masked} }}`)).status).toBe(200);
    expect(destination.last().body.toString()).toBe("XXXXXle");
    const reader = await tenant.application({ type: "private", permissions: ["token:read"] });
    const nothing = await reader("POST", "/proxy", {
      raw: "x",
      headers: { "BT-PROXY-KEY": proxy.key, "Content-Type": "text/plain" },
    });
    expect(nothing.status).toBe(403);
  });

  it("leave no value in the operator's log", async () => {
    await restClient(inject("serverUrl"))("GET", "/healthz");
    const log = readFileSync(inject("serverLog"), "utf8");
    expect(log).not.toContain(NUMBER);
    expect(log).not.toContain("s3cr3t");
    expect(log).not.toContain("X-Injected");
  });
});
