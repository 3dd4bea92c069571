/** Interval between progress messages, in milliseconds. */
const EVERY_MS = 2_000;

/** Reports progress to people. A total of 0 means unknown. */
export function progressOf(
  say: (line: string) => void,
  what: string,
  total: number,
  unit: "rows" | "bytes" = "rows",
): (done: number) => void {
  let told = performance.now();
  return (done) => {
    const now = performance.now();
    if (now - told < EVERY_MS) return;
    told = now;
    const share = total > 0 ? `, ${Math.min(100, Math.floor((done / total) * 100))} %` : "";
    say(`${what}: ${done.toLocaleString("en")} ${unit}${share}`);
  };
}
