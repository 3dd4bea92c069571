import { describe, expect, it } from "vitest";
import { openStored } from "../../support/stored.js";
import { newTenant } from "../../support/tenant.js";
import { code, makeProxy } from "./support/proxies.js";

describe("a stored proxy", () => {
  it("is stored without a readable key, destination, code or configuration", async () => {
    const tenant = await newTenant();
    const { id, key } = await makeProxy(tenant, {
      destination_url: "https://partner.example.com/hidden-path",
      configuration: { HIDDEN_NAME: "hidden-value" },
      request_transform: code("return 'hidden-code'"),
    });
    await using stored = await openStored();
    const text = await stored.textOf(tenant.id, "proxies");
    expect(text).toContain(id);
    const hex = (word: string) => Buffer.from(word).toString("hex");
    for (const word of [
      "Test proxy",
      key,
      key.slice(-20),
      "partner.example",
      "hidden-path",
      "HIDDEN_NAME",
      "hidden-value",
      "hidden-code",
    ]) {
      expect(text).not.toContain(word);
      expect(text).not.toContain(hex(word));
    }
  });
});
