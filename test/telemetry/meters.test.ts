import { expect, it } from "vitest";
import { createMeters } from "../../src/telemetry/meters.js";

it("counts a shed request under the current and the former name of the metric", async () => {
  const meters = createMeters();
  meters.requestShed();
  meters.requestShed();
  const page = await meters.registry.metrics();
  expect(page).toContain("\ncloakroom_requests_shed_total 2\n");
  expect(page).toContain("\ncloakroom_turned_away_total 2\n");
});
