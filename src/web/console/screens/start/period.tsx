import { useState } from "react";
import { useSearchParams } from "wouter";
import type { ActivityStep } from "../../charts/activity-series.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The periods of the home page's numbers, by their names in addresses. */
const PERIODS = [
  { name: "24h", words: "24 h", step: "hour", count: 24, length: HOUR_MS },
  { name: "7d", words: "7 days", step: "day", count: 7, length: DAY_MS },
  { name: "30d", words: "30 days", step: "day", count: 30, length: DAY_MS },
] as const satisfies readonly { name: string; words: string; step: ActivityStep; count: number; length: number }[];

export interface Period {
  readonly words: string;
  readonly step: ActivityStep;
  /** ISO 8601: the beginning of its first hour or day in UTC. */
  readonly startDate: string;
}

/** The period that the address names; the last 24 hours without a name. Stays the same while the page is open. */
export function usePeriod(): Period {
  const [params] = useSearchParams();
  const [now] = useState(() => Date.now());
  const { words, step, count, length } = PERIODS.find(({ name }) => name === params.get("period")) ?? PERIODS[0];
  const start = Math.floor(now / length) * length - (count - 1) * length;
  return { words, step, startDate: new Date(start).toISOString() };
}

export function PeriodChoice({ chosen }: { chosen: Period }) {
  const [, setParams] = useSearchParams();
  return (
    <fieldset className="tabs">
      <legend className="visually-hidden">Period</legend>
      {PERIODS.map(({ name, words }) => (
        <button
          key={name}
          type="button"
          aria-pressed={words === chosen.words}
          onClick={() => setParams({ period: name })}
        >
          {words}
        </button>
      ))}
    </fieldset>
  );
}
