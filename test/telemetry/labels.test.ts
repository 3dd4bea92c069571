import { beforeAll, describe, expect, it } from "vitest";
import { RATE_SCOPES } from "../../src/rate-limits/rate-scope.js";
import { AUDIT_INCIDENT_REASONS, createMeters } from "../../src/telemetry/meters.js";

describe("labels of metrics", () => {
  const meters = createMeters();
  let page = "";
  beforeAll(async () => {
    meters.request("GET", "/tokens/:id", 200, 0.01);
    meters.request("get", "/tokens/:id", 200, 0.01);
    meters.request("PURGE\n", undefined, 404, 0.01);
    meters.request("POST", "/proxies/:id/x/:other_id", 799, 0.01);
    for (const scope of RATE_SCOPES) meters.rateRefused(scope);
    for (const incident of AUDIT_INCIDENT_REASONS) meters.auditIncident(incident);
    page = await meters.registry.metrics();
  });

  it.each([
    [
      "a method and a path as they are routed",
      'http_request_method="GET",http_route="/tokens/{id}",http_response_status_code="200"',
    ],
    [
      "every other method in one word",
      'http_request_method="_OTHER",http_route="/tokens/{id}",http_response_status_code="200"',
    ],
    [
      "every path that is not routed in one word",
      'http_request_method="_OTHER",http_route="other",http_response_status_code="404"',
    ],
    [
      "every status that has no name in one word",
      'http_route="/proxies/{id}/x/{other_id}",http_response_status_code="other"',
    ],
  ])("have %s", (_, labels) => {
    expect(page).toContain(labels);
  });

  it.each(RATE_SCOPES)("count refusals by scope: %s", (scope) => {
    expect(page).toMatch(new RegExp(`scope="${scope}"\\} 1$`, "m"));
  });

  it.each(AUDIT_INCIDENT_REASONS)("count incidents of the log by reason: %s", (incident) => {
    expect(page).toContain(`cloakroom_audit_incidents_total{reason="${incident}"} 1`);
  });

  it("count a job's runs and failures, and pass its failure on", async () => {
    let isBroken = false;
    const job = meters.timed({
      name: "sweep",
      async run() {
        if (isBroken) throw new Error("broken");
      },
    });
    await job.run();
    isBroken = true;
    await expect(job.run()).rejects.toThrow("broken");
    const counted = await meters.registry.metrics();
    const runs = counted.split("\n").filter((line) => line.includes('"sweep"') && line.includes("_count"));
    expect(runs).toHaveLength(2);
    for (const line of runs) expect(line).toMatch(/ 1$/);
  });
});
