import { expect, it } from "vitest";
import { failedRequests } from "./failed-requests.js";

it("counts what a server answered with 5xx by call, status and cause", () => {
  const served = `{"level":30,"rpc":"CreateToken","status":200,"duration_ms":1,"msg":"served"}`;
  const failed = `{"level":50,"rpc":"CreateToken","route":"/tokens","status":503,"code":"unavailable","duration_ms":3542.7,"cause":"waited too long for the database","msg":"failed"}`;
  const other = `{"level":50,"rpc":"GetToken","status":500,"code":"internal","duration_ms":1,"cause":"a \\"b\\"","msg":"failed"}`;
  expect(failedRequests([failed, served, "Serving REST", other, failed, ""].join("\n"))).toEqual([
    'CreateToken 503 "waited too long for the database", 2 times',
    'GetToken 500 "a \\"b\\"", 1 times',
  ]);
});
