// Needs: curl
import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../support/tenant.js";
import { WalkThrough } from "./support/walk-through.js";

describe("the README, as it is written", () => {
  let tenant: TestTenant;
  let readme: WalkThrough;
  const read = (field: string) => (_: string, printed: string) => String(JSON.parse(printed)[field]);
  beforeAll(async () => {
    tenant = await newTenant();
    readme = new WalkThrough("README.md", {}, tenant.url);
  });

  it("begins with the two commands of a first start", () => {
    expect(readme.next).toBe("npm ci\nnpm start\n");
    readme.advance();
  });

  it("creates an application with the key that the start printed", async () => {
    await readme.type((name, printed) =>
      name === "MANAGEMENT_KEY" ? tenant.managementKey : String(JSON.parse(printed).key),
    );
    expect(readme.variable("KEY")).toMatch(/^key_prod_pvt_/);
  });

  it("tokenizes a card with curl, and reads it back", async () => {
    const shown = JSON.parse(await readme.type(read("id")));
    expect(shown).toMatchObject({ id: readme.variable("TOKEN_ID"), data: { number: "4242424242424242" } });
  });

  it("tokenizes a card over gRPC", async () => {
    expect(JSON.parse(await readme.type())).toMatchObject({ id: expect.any(String), type: "card" });
  });

  it("creates a page's key; its snippet bundles and tokenizes a card", async () => {
    await readme.type(read("key"));
    const publicKey = readme.variable("PUBLIC_KEY") ?? "";
    expect(publicKey).toMatch(/^key_prod_pub_/);
    const [, snippet = ""] = /```ts\n([\s\S]*?)```/.exec(readFileSync("README.md", "utf8")) ?? [];
    const page = snippet.replace('"..."', JSON.stringify(publicKey)).replace("http://127.0.0.1:8080", tenant.url);
    const { outputFiles } = await build({
      stdin: { contents: `${page}\nexport { token };`, resolveDir: ".", loader: "ts" },
      ...{ bundle: true, format: "esm", write: false, logLevel: "silent" },
    });
    const [file] = outputFiles;
    const { token } = await import(
      `data:text/javascript;base64,${Buffer.from(file?.contents ?? "").toString("base64")}`
    );
    const backEnd = await tenant.backEnd();
    expect((await backEnd("GET", `/tokens/${token.id}`)).body.data).toEqual({
      ...{ number: "4242424242424242", expiration_month: 12, expiration_year: 2030 },
    });
  });
});
