import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Intent } from "../../../src/payments/contract/payment-request.js";
import {
  type Event,
  type IntentOutcome,
  STATUSES,
  type Status,
  TRANSITIONS,
  transitionOn,
} from "../../../src/payments/lifecycle/transaction-states.js";
import { isSettled } from "./settled.js";

const INTENTS: readonly Intent[] = ["authorize", "capture"];
const OUTCOMES: readonly IntentOutcome[] = ["pending", "succeeded", "failed"];
const EVENTS = [...new Set(TRANSITIONS.map(({ on }) => on))];

describe("the transition table", () => {
  it("has one transition for each status, event, intent and outcome", () => {
    for (const from of STATUSES) {
      for (const on of EVENTS) {
        for (const intent of INTENTS) {
          for (const outcome of OUTCOMES) {
            const fitting = TRANSITIONS.filter(
              (step) => step.from === from && step.on === on && (step.intent ?? intent) === intent,
            ).filter(({ after }) => (after ?? outcome) === outcome);
            // A transition for a specific outcome comes before the general one.
            const [special, ...others] = fitting.filter(({ after }) => after !== undefined);
            expect([...others, ...fitting.filter(({ after }) => after === undefined).slice(1)]).toEqual([]);
            if (special) expect(transitionOn({ status: from, intentOutcome: outcome }, on, intent)).toBe(special);
          }
        }
      }
    }
  });

  it("reaches every status, and never leaves declined, voided and captured", () => {
    const reached = new Set<string>(["processing", ...TRANSITIONS.map(({ to }) => to)]);
    expect([...reached].sort()).toEqual([...STATUSES].sort());
    for (const status of ["authorization_declined", "authorization_voided", "capture_succeeded"] as const) {
      expect(TRANSITIONS.filter(({ from }) => from === status)).toEqual([]);
    }
  });

  it("leaves authorization_failed only to release a late approval", () => {
    const late = TRANSITIONS.filter(({ from }) => from === "authorization_failed");
    expect(late.map(({ on, next }) => [on, next])).toEqual([
      ["authorized", "void"],
      ["capturing", undefined],
      ["captured", "refund"],
    ]);
  });

  it("ends, whatever events come in whatever order", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...INTENTS),
        fc.array(fc.constantFrom<Event>(...EVENTS), { maxLength: 30 }),
        (intent, events) => {
          let [status, intentOutcome]: [Status, IntentOutcome] = ["processing", "pending"];
          let captures = 0;
          let voids = 0;
          for (const event of events) {
            const step = transitionOn({ status, intentOutcome }, event, intent);
            if (!step) continue;
            status = step.to;
            if (intentOutcome !== "succeeded") intentOutcome = step.outcome ?? intentOutcome;
            // No one is charged for a payment that was reported as failed.
            if (status === "capture_succeeded" && intentOutcome === "failed") expect(step.next).toBe("refund");
            if (status === "capture_succeeded") captures += 1;
            if (status === "authorization_voided") voids += 1;
          }
          // Money is captured once or released once, and never both.
          expect(captures + voids).toBeLessThan(2);
          if (captures + voids === 1) expect(isSettled(status)).toBe(true);
        },
      ),
    );
  });

  it("matches the diagram in the documentation", () => {
    const page = readFileSync(new URL("../../../docs/payments.md", import.meta.url), "utf8");
    expect(page).toContain(`\`\`\`mermaid\n${stateDiagram()}\n\`\`\``);
  });
});

/** The table as a Mermaid state diagram, as docs/payments.md shows it. */
function stateDiagram(): string {
  const edges = new Map<string, string[]>();
  for (const { from, on, to, after, next } of TRANSITIONS) {
    const edge = `${from} --> ${to}`;
    const event = after ? `${on} after ${after}` : on;
    const label = next ? `${event}, then ${next}` : event;
    const labels = edges.get(edge) ?? [];
    if (!labels.includes(label)) edges.set(edge, [...labels, label]);
  }
  const lines = [...edges].map(([edge, labels]) => `  ${edge}: ${labels.join(" / ")}`);
  return ["stateDiagram-v2", "  [*] --> processing", ...lines].join("\n");
}
