import { once } from "node:events";
import { createServer } from "node:http2";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { versionWarning } from "../../src/cli/api/version-command.js";
import { cloakroom } from "../support/command.js";
import { newTenant, type TestTenant } from "../support/tenant.js";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await newTenant();
});

const versionAt = async (url: string, ...args: string[]) =>
  cloakroom({ CLOAKROOM_URL: url, CLOAKROOM_API_KEY: tenant.managementKey }, "version", "--server", ...args);

describe("cloakroom version --server", () => {
  it("shows the versions of command and server", async () => {
    const local = JSON.parse((await cloakroom({}, "version", "--json")).stdout);
    const { code, stdout, stderr } = await versionAt(inject("serverUrl"), "--json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { version, commit } = local;
    expect(JSON.parse(stdout)).toEqual({ client: local, server: { url: inject("serverUrl"), version, commit } });
    const rows = (await versionAt(inject("serverUrl"))).stdout.trim().split("\n");
    expect(rows).toEqual([`this command\t${version}\t${commit}`, `${inject("serverUrl")}\t${version}\t${commit}`]);
  });

  it("says that a server is too old to report its version", async () => {
    const server = createServer((_, response) => {
      const headers = { "content-type": "application/grpc+proto", "grpc-status": "12", "grpc-message": "no method" };
      response.writeHead(200, headers).end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const { code, stdout, stderr } = await versionAt(url, "--json");
    server.close();
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("older than this command") });
    expect(JSON.parse(stdout).server).toEqual({ url });
  });
});

describe("versionWarning", () => {
  it.each([
    ["the same build", { version: "1.0.0", commit: "a" }, undefined],
    ["an unknown commit", { version: "1.0.0" }, undefined],
    ["another build", { version: "1.0.0", commit: "b" }, "different builds of version 1.0.0"],
    ["another version", { version: "1.1.0", commit: "a" }, "version 1.0.0, and the server is version 1.1.0"],
  ])("compares with the server's version: %s", (_, server, words) => {
    const difference = versionWarning({ version: "1.0.0", commit: "a" }, server);
    if (words === undefined) expect(difference).toBeUndefined();
    else expect(difference).toContain(words);
  });
});
