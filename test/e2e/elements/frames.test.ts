import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { cardBrands } from "../../../src/tokens/types/card-brand.js";
import { dataIn, keyNameOf as nameOf } from "../../support/frame-pass.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const url = inject("serverUrl");
const SHOP = "https://shop.example.com";

let tenant: TestTenant;
let publicKey: string;
let applicationId: string;
beforeAll(async () => {
  tenant = await newTenant();
  ({ key: publicKey, id: applicationId } = await publicApplication([SHOP, "https://other.example.com"]));
});

async function publicApplication(allowed_origins: string[], more: object = {}): Promise<{ key: string; id: string }> {
  const definition = { name: "Shop", type: "public", permissions: ["token:create"], allowed_origins, ...more };
  return (await tenant.manage("POST", "/applications", { body: definition })).body;
}

const frame = (key: string, type = "cardNumber", headers: Record<string, string> = {}) =>
  fetch(`${url}/elements/v1/frame?key=${key}&type=${type}`, { headers });

async function passOf(key: string): Promise<string> {
  return `${dataIn(await (await frame(nameOf(key), "controller")).text()).pass} ${nameOf(key)}`;
}

const tokenize = (key: string, pass: string) =>
  fetch(`${url}/tokenize`, {
    method: "POST",
    headers: { "BT-API-KEY": key, "Cloakroom-Frame": pass, "Content-Type": "application/json" },
    body: JSON.stringify({ type: "token", data: "x" }),
  });

describe("a frame", () => {
  it("may be shown by pages of the allowed origins only, and loads nothing from elsewhere", async () => {
    const response = await frame(nameOf(publicKey));
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "default-src 'none'; script-src 'self'; worker-src 'none'; style-src 'self'; connect-src 'none'; img-src 'none'; " +
        "font-src 'none'; form-action 'none'; base-uri 'none'; " +
        `frame-ancestors ${SHOP} https://other.example.com; require-trusted-types-for 'script'; trusted-types 'none'`,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "cross-origin",
      "cross-origin-embedder-policy": "require-corp",
      "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
      "cache-control": "private, max-age=30",
    });
    expect(response.headers.get("x-frame-options")).toBeNull();
    const page = await response.text();
    expect(page).not.toContain(publicKey);
    expect(page).not.toMatch(/<script(?![^>]* src=)| on[a-z]+=|style=/i);
    expect(dataIn(page)).toEqual({
      type: "cardNumber",
      key: nameOf(publicKey),
      origins: [SHOP, "https://other.example.com"],
    });
  });

  it("has a network only as the controller", async () => {
    const response = await frame(nameOf(publicKey), "controller");
    expect(response.headers.get("content-security-policy")).toContain("connect-src 'self'");
    expect(response.headers.get("cache-control"), "each document has a pass of its own").toBe("no-store");
    for (const type of ["card", "text", "reveal", "cardVerificationCode", "cardExpirationDate"]) {
      expect((await frame(nameOf(publicKey), type)).headers.get("content-security-policy")).toContain(
        "connect-src 'none'",
      );
    }
  });

  it.each([
    ["an unknown type", () => [nameOf(publicKey), "constructor"], 400],
    ["no key", () => ["", "cardNumber"], 404],
    ["a key itself", () => [publicKey, "cardNumber"], 404],
    ["a key that does not exist", () => [nameOf(`${publicKey}x`), "cardNumber"], 404],
  ])("does not exist for %s", async (_, request, status) => {
    const [key = "", type] = request();
    const response = await frame(key, type);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  });

  it("does not exist for the key of a private application", async () => {
    const { key } = await tenant.backEnd();
    expect((await frame(nameOf(key))).status).toBe(404);
    expect((await frame(nameOf(key).replace(/^pvt/, "pub"))).status).toBe(404);
  });

  it("cannot be a page, a script or the like", async () => {
    for (const dest of ["document", "script", "style", "worker", "object", "embed", "image"]) {
      expect([dest, (await frame(nameOf(publicKey), "card", { "Sec-Fetch-Dest": dest })).status]).toEqual([dest, 403]);
    }
    expect((await frame(nameOf(publicKey), "card", { "Sec-Fetch-Dest": "iframe" })).status).toBe(200);
  });

  it("works for the pages of a page's own session", async () => {
    const { key } = await publicApplication([SHOP], { allow_page_requests: true });
    const { body } = await tenant.manage("POST", "/sessions", { key });
    const response = await frame(nameOf(body.session_key), "reveal");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-security-policy")).toContain(`frame-ancestors ${SHOP};`);
  });

  it("without allowed origins may be shown nowhere", async () => {
    const { key } = await publicApplication([]);
    expect((await frame(nameOf(key))).headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  });
});

describe("a request of a frame", () => {
  it("is accepted with the frame's pass, its key and an allowed origin", async () => {
    expect((await tokenize(publicKey, `${await passOf(publicKey)} ${SHOP}`)).status).toBe(200);
  });

  it("is denied with the pass of another key", async () => {
    const { key: other } = await publicApplication([SHOP]);
    const response = await tokenize(publicKey, `${await passOf(other)} ${SHOP}`);
    expect([response.status, Object(await response.json()).code]).toEqual([403, "permission_denied"]);
    const { key: privateKey } = await tenant.backEnd();
    expect((await tokenize(privateKey, `${await passOf(publicKey)} ${SHOP}`)).status).toBe(403);
  });

  it("is accepted with the key of a session that it created only", async () => {
    const sessionOf = async (key: string, sent = "") => {
      const headers = sent === "" ? {} : { "Cloakroom-Frame": sent };
      return (await tenant.manage("POST", "/sessions", { key, headers })).body.session_key;
    };
    const pass = `${await passOf(publicKey)} ${SHOP}`;
    const read = async (key: string) => {
      const headers = { "BT-API-KEY": key, "Cloakroom-Frame": pass };
      return Object(await (await fetch(`${url}/tokens/nope`, { headers })).json()).detail;
    };
    expect(await read(await sessionOf(publicKey, pass))).toContain("lacks the permission token:read");
    const another = `${await passOf(publicKey)} ${SHOP}`;
    expect(await read(await sessionOf(publicKey, another))).toBe(
      "The frame that sends this did not create this session.",
    );
    const { key: other } = await publicApplication([SHOP], { allow_page_requests: true });
    expect(await read(await sessionOf(other))).toBe("The frame that sends this was loaded with another key.");
  });

  it("is denied with a changed pass, and for another origin", async () => {
    const pass = await passOf(publicKey);
    const [start = "", ...rest] = pass.split(".");
    for (const sent of ["", "x", `x.y ${nameOf(publicKey)}`, `${start}0.${rest.join(".")}`, `${pass}A`]) {
      expect([sent, (await tokenize(publicKey, `${sent} ${SHOP}`)).status]).toEqual([sent, 403]);
    }
    expect((await tokenize(publicKey, `${pass} https://evil.example`)).status).toBe(403);
    expect((await tokenize(publicKey, pass)).status).toBe(403);
  });

  it("leaves a row in the log when it is denied", async () => {
    // Of a tenant whose pages were denied nothing yet: from ten rows a minute on, a summary stands for all.
    const fresh = await newTenant();
    const definition = { name: "Shop", type: "public", permissions: ["token:create"], allowed_origins: [SHOP] };
    const { id, key } = (await fresh.manage("POST", "/applications", { body: definition })).body;
    expect((await tokenize(key, `${await passOf(publicKey)} ${SHOP}`)).status).toBe(403);
    const { body } = await fresh.manage("GET", `/logs?entity_id=${id}&outcome=denied`);
    expect(body.data).toEqual([
      expect.objectContaining({
        ...{ actor_id: id, entity_type: "application", operation: "refuse", code: "permission_denied" },
        message: "Application refused: frame",
      }),
    ]);
  });

  it("is denied some seconds after the origin was removed", async () => {
    const pass = await passOf(publicKey);
    const definition = { name: "Shop", permissions: ["token:create"], allowed_origins: [SHOP] };
    await tenant.manage("PUT", `/applications/${applicationId}`, { body: definition });
    await expect.poll(async () => (await tokenize(publicKey, `${pass} https://other.example.com`)).status).toBe(403);
    expect((await tokenize(publicKey, `${pass} ${SHOP}`)).status).toBe(200);
  });
});

describe("the loader", () => {
  it("is revalidated at its plain address, and immutable at that of its version", async () => {
    const plain = await fetch(`${url}/elements/v1/elements.js`);
    expect(Object.fromEntries(plain.headers)).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=300",
      "cross-origin-resource-policy": "cross-origin",
      "access-control-allow-origin": "*",
      "x-content-type-options": "nosniff",
    });
    const etag = plain.headers.get("etag") ?? "";
    const again = await fetch(`${url}/elements/v1/elements.js`, { headers: { "If-None-Match": etag } });
    expect(again.status).toBe(304);
    const version = Object(await (await fetch(`${url}/elements/v1/version.json`)).json());
    const versioned = await fetch(`${url}${version.path}`);
    expect(versioned.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    const content = Buffer.from(await versioned.arrayBuffer());
    expect(version.integrity).toBe(`sha384-${createHash("sha384").update(content).digest("base64")}`);
    expect(content.toString()).toBe(await plain.text());
  });

  it("any origin may frame the notice, which runs no script", async () => {
    const { headers, status } = await fetch(`${url}/elements/v1/notice`);
    expect(status).toBe(200);
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; .*frame-ancestors \*$/,
    );
  });
});

describe("the notice", () => {
  it.each([
    ["de", "Dieses Feld kann auf dieser Seite nicht angezeigt werden."],
    ["fr", "Ce champ ne peut pas être affiché dans cette page."],
    ["es", "Este campo no se puede mostrar en esta página."],
    ["en", "This field cannot be shown in this page."],
    ["constructor", "This field cannot be shown in this page."],
  ])("is in the language of the group: %s", async (locale, text) => {
    const page = await (await fetch(`${url}/elements/v1/notice?locale=${locale}`)).text();
    expect(page).toContain(`<html lang="${locale === "constructor" ? "en" : locale}">`);
    expect(page).toContain(`<p>${text}</p>`);
  });

  it("runs from right to left in Arabic", async () => {
    const page = await (await fetch(`${url}/elements/v1/notice?locale=ar`)).text();
    expect(page).toContain('<html lang="ar" dir="rtl">');
  });
});

describe("the bundles", () => {
  const manifest = JSON.parse(readFileSync("dist/web/manifest.json", "utf8"));
  const { outputs } = JSON.parse(readFileSync("dist/web/meta.json", "utf8"));
  const sizeOf = (name: string) => readFileSync(`dist/web/${name}.gz`).length;

  it.each([
    ["elements/elements", 6],
    ["elements/field", 25],
    ["elements/controller", 25],
  ])("%s has at most %i KB, compressed", (name, kilobytes) => {
    const { file, styles, imports } = manifest[name];
    const bytes = [file, ...styles, ...imports].map(sizeOf).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThan(kilobytes * 1_024);
  });

  it("contain of packages only the table of card brands", () => {
    const inputs = Object.entries(outputs)
      .filter(([path]) => path.includes("/elements/"))
      .flatMap(([, output]) => Object.keys(Object(output).inputs));
    const packages = inputs.filter((path) => path.startsWith("node_modules/")).map((path) => path.split("/")[1]);
    expect([...new Set(packages)]).toEqual(["credit-card-type"]);
  });

  it("keep nothing in the browser", () => {
    for (const name of ["elements/elements", "elements/field", "elements/controller"]) {
      expect(readFileSync(`dist/web/${manifest[name].file}`, "utf8")).not.toMatch(
        /localStorage|sessionStorage|indexedDB|cookie|caches\b|BroadcastChannel/,
      );
    }
  });

  it("name the brands that tokens do, and those in the guide", async () => {
    const { types } = (await import("credit-card-type")).default;
    const others = Object.values(types).filter((brand) => !cardBrands.some((named) => named === brand));
    const [, listed = ""] =
      /of brands that tokens do not name: ([^.]*)\./.exec(readFileSync("docs/elements.md", "utf8")) ?? [];
    expect([...listed.matchAll(/`([a-z-]+)`/g)].map(([, brand]) => brand).toSorted()).toEqual(others.toSorted());
  });
});
