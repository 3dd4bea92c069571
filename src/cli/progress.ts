/** Interval between progress messages, in milliseconds. */
const EVERY_MS = 2_000;

/** Reports progress to people. A total of 0 means unknown. */
export function progressReporter(
  say: (line: string) => void,
  what: string,
  total: number,
  unit: "rows" | "bytes" = "rows",
): (done: number) => void {
  let printedAt = performance.now();
  return (done) => {
    const now = performance.now();
    if (now - printedAt < EVERY_MS) return;
    printedAt = now;
    const share = total > 0 ? `, ${Math.min(100, Math.floor((done / total) * 100))} %` : "";
    say(`${what}: ${done.toLocaleString("en")} ${unit}${share}`);
  };
}
