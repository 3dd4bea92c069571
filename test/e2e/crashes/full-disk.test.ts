// Computes: 12 s
import { describe, expect, it, vi } from "vitest";
import { copyMigratedData } from "../../support/migrated-data.js";
import { startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { startServerProcess } from "../../support/server.js";
import { canMount, SmallDisk } from "../../support/small-disk.js";
import { firstTenant } from "../../support/tenant.js";
import { withoutIds } from "../../support/without-ids.js";

describe.runIf(canMount)("a full disk", () => {
  it("fails logged operations with 503, keeps the server alive, and recovers once there is space", async () => {
    using disk = new SmallDisk(400);
    await using server = await startServerProcess({ DATA_DIR: `${disk.directory}/data` });
    const backEnd = await (await firstTenant(server)).backEnd();
    const probe = restClient(server.url);
    const dataOf = (index: number) => `${index} ${"x".repeat(20_000)}`;
    const stored = new Map<string, string>();
    const keep = async (index: number) => {
      const response = await backEnd("POST", "/tokens", { body: { type: "token", data: dataOf(index) } });
      if (response.status === 201) stored.set(response.body.id, dataOf(index));
      return response;
    };
    for (let index = 0; index < 5; index += 1) expect(await keep(index)).toMatchObject({ status: 201 });
    expect(await probe("GET", "/readyz")).toMatchObject({ status: 200 });

    disk.fill();
    const refused = await vi.waitFor(
      async () => {
        const response = await keep(stored.size);
        expect(response.status).toBe(503);
        return response;
      },
      { interval: 1 },
    );
    expect(refused.body).toMatchObject({ status: 503, code: "unavailable" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(withoutIds(refused.body)).not.toMatch(/disk|53100|extend/);
    expect(await probe("GET", "/healthz")).toMatchObject({ status: 200 });
    for (let look = 0; look < 3; look += 1) {
      const { status, body } = await probe("GET", "/readyz");
      expect({ status, database: body.checks.database }).toEqual({
        status: 503,
        database: "takes no writes: its disk may be full",
      });
    }
    // A read returns nothing without its log row.
    await vi.waitFor(
      async () => {
        const [id = ""] = stored.keys();
        expect(await backEnd("GET", `/tokens/${id}`)).toMatchObject({ status: 503, body: { code: "unavailable" } });
      },
      { interval: 1 },
    );

    disk.empty();
    await vi.waitFor(async () => expect(await probe("GET", "/readyz")).toMatchObject({ status: 200 }));
    expect(await keep(1_000)).toMatchObject({ status: 201 });
    for (const [id, data] of stored) expect((await backEnd("GET", `/tokens/${id}`)).body.data).toBe(data);
    expect(server.said()).toContain("53100");
    expect(await server.stop()).toBe(0);
  });

  it("keeps a killed server from restarting, with a message and no stack, until there is space", async () => {
    using disk = new SmallDisk(400);
    const environment = { CLOAKROOM_DATA_DIR: copyMigratedData(`${disk.directory}/data`) };
    const killed = await startReplica(environment);
    killed.process.kill("SIGKILL");
    await killed.ended;
    disk.fill();
    const refused = await startReplica(environment).catch((error: unknown) => String(error));
    expect(refused).toContain("the server ended with 1");
    expect(refused).toMatch(/no space is left on the device|No space left on device/);
    expect(refused).not.toMatch(/\n\s+at /);
    disk.empty();
    await using server = await startReplica(environment);
    expect(await restClient(server.url)("GET", "/readyz")).toMatchObject({ status: 200 });
  });
});
