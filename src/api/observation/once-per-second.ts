/** Wraps a report of frequent events: it runs at most once a second, with the number of events since. */
export function oncePerSecond(report: (times: number) => void): () => void {
  let times = 0;
  return () => {
    times += 1;
    if (times > 1) return;
    setTimeout(() => {
      report(times);
      times = 0;
    }, 1_000).unref();
  };
}
