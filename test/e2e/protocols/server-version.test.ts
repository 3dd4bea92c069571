import { beforeAll, describe, expect, it } from "vitest";
import { ServerService } from "../../../gen/cloakroom/v1/server_pb.js";
import { failureOf, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await newTenant();
});

const versionFor = (key: string) => rpcClient(ServerService, "gRPC", { key }).getServerVersion({});

describe("the version of the server", () => {
  it("is shown to private and management keys", async () => {
    const backEnd = await tenant.backEnd();
    for (const key of [tenant.managementKey, backEnd.key]) {
      expect((await versionFor(key)).version).toMatch(/^\d+\.\d+\.\d+/);
    }
  });

  it("is refused to a key of a deleted application, while its rights are still known", async () => {
    const backEnd = await tenant.backEnd();
    expect(await versionFor(backEnd.key)).toMatchObject({ version: expect.any(String) });
    await tenant.manage("DELETE", `/applications/${backEnd.id}`);
    expect(await failureOf(versionFor(backEnd.key))).toMatchObject({ code: "Unauthenticated" });
  });

  it("is refused to keys and sessions in pages, with a row in the log", async () => {
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { body: session } = await page("POST", "/sessions");
    const backEnd = await tenant.backEnd();
    const rights = { nonce: session.nonce, permissions: ["token:create"] };
    expect((await backEnd("POST", "/sessions/authorize", { body: rights })).status).toBe(200);
    for (const key of [page.key, session.session_key]) {
      expect(await failureOf(versionFor(key))).toMatchObject({ code: "PermissionDenied" });
    }
    const { body: log } = await tenant.manage("GET", `/logs?entity_id=${page.id}&outcome=denied`);
    const row = {
      entity_type: "application",
      code: "permission_denied",
      message: "Application refused: server version",
    };
    expect(log.data).toEqual([expect.objectContaining(row), expect.objectContaining(row)]);
  });
});
