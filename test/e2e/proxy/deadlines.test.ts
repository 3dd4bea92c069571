// Waits: 25 s
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { newTenant } from "../../support/tenant.js";
import { type Destination, startDestination } from "./support/destination.js";
import { rawCall } from "./support/raw-call.js";

// The documented 25 s cannot be configured: these tests run concurrently and wait once. test/egress/guarded-request.test.ts
// asserts the number.
describe.concurrent("a destination that is silent for 25 seconds", () => {
  let key: string;
  const destinations: Destination[] = [];
  beforeAll(async () => {
    ({ key } = await (await newTenant()).backEnd());
  });
  afterAll(() => Promise.all(destinations.map((destination) => destination[Symbol.asyncDispose]())));

  const call = async (start: string) => {
    const destination = await startDestination((socket) => void (start === "" || socket.write(start)));
    destinations.push(destination);
    const response = await rawCall(["GET /proxy HTTP/1.1", `BT-API-KEY: ${key}`, `BT-PROXY-URL: ${destination.url}`]);
    return { response, destination };
  };

  it("before it answers is a 408, and its connection is closed", async () => {
    const { response, destination } = await call("");
    const { proxy_error } = JSON.parse(response.body.toString());
    expect([response.status, proxy_error.code]).toEqual([408, "destination_timeout"]);
    // Without it a 4xx would be the caller's fault.
    expect(response.header("bt-proxy-destination-status")).toBe("504");
    await vi.waitFor(() => expect(destination.open.size).toBe(0));
  });

  it("within its headers is a 408 too", async () => {
    const { response } = await call("HTTP/1.1 200 OK\r\nX-Half: ");
    expect([response.status, response.header("bt-proxy-destination-status")]).toEqual([408, "504"]);
  });

  it("within its body is cut off, so the body does not look complete", async () => {
    const { response, destination } = await call("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    expect([response.status, response.body.toString()]).toEqual([200, "half"]);
    await vi.waitFor(() => expect(destination.open.size).toBe(0));
  });
});
