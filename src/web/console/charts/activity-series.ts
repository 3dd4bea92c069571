import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Activity, ActivityBucket, ActivityCounts } from "#client/proto/cloakroom/v1/tenants_pb.js";
import type { Bar, Series } from "./bar-chart.js";

/** The colours of every chart of the log, in this order from below. */
export const ACTIVITY_SERIES: readonly Series[] = [
  { colour: "mask", words: "masked" },
  { colour: "reveal", words: "in the clear" },
  { colour: "redact", words: "no value" },
  { colour: "other", words: "about no value" },
  { colour: "denied", words: "denied" },
  { colour: "failed", words: "failed" },
];

export type ActivityStep = "hour" | "day" | "month";

const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const HOUR_TITLE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
const DAY_TITLE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const MONTH = new Intl.DateTimeFormat(undefined, { month: "short", timeZone: "UTC" });
const MONTH_TITLE = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" });

/** How times of a step are written: hours in the person's zone, days and months in UTC, in which they are counted. */
const TEXTS = {
  hour: [HOUR, HOUR_TITLE],
  day: [DAY, DAY_TITLE],
  month: [MONTH, MONTH_TITLE],
} as const;

export function seriesValues(counts: ActivityCounts | undefined): readonly number[] {
  if (!counts) return ACTIVITY_SERIES.map(() => 0);
  const { masked, revealed, redacted, other, denied, failed } = counts;
  return [masked, revealed, redacted, other, denied, failed].map(Number);
}

export function operationsIn(counts: ActivityCounts | undefined): number {
  return seriesValues(counts).reduce((sum, value) => sum + value, 0);
}

export function activityBars({ data }: Activity, step: ActivityStep): readonly Bar[] {
  const [label, title] = TEXTS[step];
  return data.flatMap(({ at, counts }: ActivityBucket): Bar[] => {
    if (!at) return [];
    const date = timestampDate(at);
    return [
      { key: date.toISOString(), label: label.format(date), title: title.format(date), values: seriesValues(counts) },
    ];
  });
}

export function activitySum({ data }: Activity, name: "revealed" | "denied" | "failed"): number {
  return data.reduce((sum, { counts }) => sum + Number(counts?.[name] ?? 0n), 0);
}
