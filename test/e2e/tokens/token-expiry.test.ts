import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant } from "../../support/tenant.js";

describe("the expiry of a token", () => {
  let backEnd: RestClient;
  beforeAll(async () => {
    backEnd = await (await newTenant()).backEnd();
  });
  const create = (expires_at: unknown) =>
    backEnd("POST", "/tokens", { body: { type: "token", data: "x", expires_at } });

  it.each([
    // With an offset: shown with it.
    ["8/26/2030 7:23:57 PM -07:00", "2030-08-26T19:23:57-07:00"],
    ["2030-08-26T19:23:57-07:00", "2030-08-26T19:23:57-07:00"],
    ["2030-08-26T19:23:57.250+05:30", "2030-08-26T19:23:57.250+05:30"],
    ["2030-08-26T19:23+0200", "2030-08-26T19:23:00+02:00"],
    // In UTC: like every other time.
    ["2030-08-26T19:23:57Z", "2030-08-26T19:23:57.000Z"],
    ["2030-08-26T19:23:57.5z", "2030-08-26T19:23:57.500Z"],
    ["2030-08-26T19:23:57+00:00", "2030-08-26T19:23:57.000Z"],
    // Without an offset: read as UTC.
    ["2030-08-26T19:23:57", "2030-08-26T19:23:57.000Z"],
    ["2030-08-26 19:23:57", "2030-08-26T19:23:57.000Z"],
    ["8/26/2030 7:23:57 PM", "2030-08-26T19:23:57.000Z"],
    ["12/31/2030 12:00:00 AM", "2030-12-31T00:00:00.000Z"],
    ["12/31/2030 12:30 PM", "2030-12-31T12:30:00.000Z"],
    // A date alone: its first moment in UTC.
    ["9/27/2030", "2030-09-27T00:00:00.000Z"],
    ["2030-09-27", "2030-09-27T00:00:00.000Z"],
    ["2032-02-29", "2032-02-29T00:00:00.000Z"],
    ["9999-12-31T23:59:59+07:00", "9999-12-31T23:59:59+07:00"],
  ])("given as %s is shown as %s", async (given, shown) => {
    const created = await create(given);
    expect(created).toMatchObject({ status: 201, body: { expires_at: shown } });
    expect(await backEnd("GET", `/tokens/${created.body.id}`)).toMatchObject({ body: { expires_at: shown } });
  });

  it.each([
    "",
    "tomorrow",
    "2030-13-01",
    "2031-02-29",
    "2/30/2030",
    "13/1/2030",
    "2030-08-26T25:00:00Z",
    "8/26/2030 13:00:00 PM",
    "8/26/2030 0:30 AM",
    "1924934400",
    "2030-08-26T19:23:57+25:00",
    "2020-01-01",
    "2020-01-01T00:00:00Z",
    // By their offset in the year 10000.
    "9999-12-31T23:59:59-07:00",
    "12/31/9999 11:59:59 PM -07:00",
    "x".repeat(101),
  ])("cannot be %j", async (given) => {
    const { status, body } = await create(given);
    expect({ status, code: body.code, fields: Object.keys(body.errors ?? {}) }).toEqual({
      status: 400,
      code: "validation_failed",
      fields: ["expires_at"],
    });
  });

  it("is absent from a token without one", async () => {
    expect((await create(null)).body).not.toHaveProperty("expires_at");
  });
});
