import { expect, it } from "vitest";
import { createMeters } from "../../src/telemetry/meters.js";

it("counts shed requests", async () => {
  const meters = createMeters();
  meters.requestShed();
  meters.requestShed();
  expect(await meters.registry.metrics()).toContain("\ncloakroom_requests_shed_total 2\n");
});

it("has no family that is deprecated", async () => {
  const families = await createMeters().registry.getMetricsAsJSON();
  expect(families.filter(({ help }) => /deprecated/i.test(help))).toEqual([]);
});
