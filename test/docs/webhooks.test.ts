// Needs: curl, openssl, python3
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { verifyWebhook } from "../../clients/typescript/src/verify-webhook.js";
import { newDirectory } from "../support/new-directory.js";
import { type Received, type Receiver, startReceiver } from "../support/receiver.js";
import { newTenant, type TestTenant } from "../support/tenant.js";
import { WalkThrough } from "./support/walk-through.js";

const guide = readFileSync("docs/webhooks.md", "utf8");
const snippet = (language: string) => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? "";

describe("the guide to webhooks, as it is written", () => {
  let tenant: TestTenant;
  let walk: WalkThrough;
  let secret: string;
  let request: Received;
  const directory = newDirectory();
  beforeAll(async () => {
    tenant = await newTenant();
    const variables = { BASE: tenant.url, MANAGEMENT_KEY: tenant.managementKey };
    walk = new WalkThrough("docs/webhooks.md", variables, tenant.url, directory);
  });

  it("makes a webhook, whose secret the response has", async () => {
    const made = JSON.parse(await walk.type());
    expect(made).toMatchObject({ name: "orders", status: "enabled", secret: expect.stringMatching(/^whsec_/) });
    await tenant.manage("DELETE", `/webhooks/${made.id}`);
  });

  it("shows a request as one arrives", async () => {
    await using receiver: Receiver = await startReceiver();
    const body = { name: "n", url: receiver.url, events: ["token.created"] };
    const backEnd = await tenant.backEnd();
    ({ secret } = (await tenant.manage("POST", "/webhooks", { body })).body);
    await backEnd("POST", "/tokens", { body: { type: "card", data: CARD, containers: ["/pci/high/"] } });
    request = await vi.waitFor(() => {
      const [first] = receiver.received;
      if (!first) throw new Error("no request has arrived");
      return first;
    });
    const [shown, arrived] = [JSON.parse(snippet("json")), JSON.parse(request.body)];
    expect(namesOf(shown)).toEqual(namesOf(arrived));
    expect(arrived.event).toMatchObject({ type: shown.event.type, data: { token: { containers: ["/pci/high/"] } } });
  });

  it("verifies it in Node and in Python, and refuses it with a byte changed", async () => {
    const { body, headers } = request;
    const code = snippet("js")
      .replace(/^import .*$/m, "")
      .replace("const event =", "return");
    const verify = new Function("verifyWebhook", "body", "request", "process", `return (async () => {${code}})()`);
    const inNode = (text: string) => verify(verifyWebhook, text, { headers }, { env: { WEBHOOK_SECRET: secret } });
    expect(await inNode(body)).toMatchObject({ type: "token.created" });
    await expect(inNode(body.replace("card", "bank"))).rejects.toThrow("No signature");
    const program = `${snippet("python")}
import json, sys
given = json.load(sys.stdin)
verify(given["body"].encode(), given["headers"], given["secret"])`;
    const inPython = (text: string) =>
      spawnSync("python3", ["-c", program], {
        input: JSON.stringify({ body: text, headers, secret }),
        encoding: "utf8",
      });
    expect(inPython(body)).toMatchObject({ status: 0, stderr: "" });
    expect(inPython(body.replace("card", "bank")).stderr).toContain("the signature does not fit");
  });

  it("verifies it by the vault's key with openssl", async () => {
    writeFileSync(join(directory, "signature.txt"), String(request.headers["bt-signature"]));
    writeFileSync(join(directory, "body.json"), request.body);
    expect(await walk.type()).toContain("Verified OK");
    expect(walk.isAtEnd).toBe(true);
  });
});

const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };

/** The names of an object at all depths, in their order, without what some tokens lack. */
function namesOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return Object.entries(value).map(([name, inner]) => [name, namesOf(inner)]);
}
