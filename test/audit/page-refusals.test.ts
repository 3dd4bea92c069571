import fc from "fast-check";
import { expect, it } from "vitest";
import { PageRefusals } from "../../src/audit/page-refusals.js";
import { ROWS_PER_SOURCE, ROWS_PER_TENANT } from "../../src/audit/refusal-caps.js";
import { newTenantId } from "../../src/base/ids.js";

const MINUTE_MS = 60_000;

it("leaves a bounded number of rows in a minute, and counts all others, for any sources and times", async () => {
  const tenantId = newTenantId();
  const refusal = fc.record({ source: fc.nat({ max: 20 }), after: fc.nat({ max: 2_000 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(refusal, { maxLength: 300 }), async (refusals) => {
      let now = 0;
      let end: { readonly at: number; readonly run: () => void } | undefined;
      const times = {
        now: () => now,
        after: (milliseconds: number, run: () => void) => {
          expect(end).toBeUndefined();
          end = { at: now + milliseconds, run };
        },
      };
      const pages = new PageRefusals(times);
      const rows = new Map<number, string[]>();
      let summed = 0;
      const endMinute = () => {
        const ended = end;
        end = undefined;
        ended?.run();
      };
      for (const { source, after } of refusals) {
        now += after;
        if (end && now >= end.at) endMinute();
        const minute = Math.floor(now / MINUTE_MS);
        const hasRow = pages.count(tenantId, `192.0.2.${source}`, async (summary) => {
          summed += Number.parseInt(summary, 10);
        });
        if (hasRow) rows.set(minute, [...(rows.get(minute) ?? []), `${source}`]);
      }
      endMinute();
      for (const sources of rows.values()) {
        expect(sources.length).toBeLessThanOrEqual(ROWS_PER_TENANT);
        for (const source of sources) {
          expect(sources.filter((other) => other === source).length).toBeLessThanOrEqual(ROWS_PER_SOURCE);
        }
      }
      expect([...rows.values()].flat().length + summed).toBe(refusals.length);
    }),
    { numRuns: 300 },
  );
});
