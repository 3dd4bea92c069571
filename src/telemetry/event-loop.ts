import { Gauge, type Registry } from "prom-client";

/** How often the thread's processor time is read, in milliseconds. */
const SAMPLE_MS = 10;

/**
 * Measures the longest time for which the event loop served nothing else. It is processor time of the main thread, so that a
 * machine that is busy with other processes does not show as a hold of ours; turns that are shorter than a sample add up to
 * one sample at most.
 */
export function gaugeEventLoop(registry: Registry): void {
  let longestUs = 0;
  let lastUs = threadTimeUs();
  const sample = () => {
    const nowUs = threadTimeUs();
    longestUs = Math.max(longestUs, nowUs - lastUs);
    lastUs = nowUs;
  };
  setInterval(sample, SAMPLE_MS).unref();
  new Gauge({
    name: "cloakroom_event_loop_hold_seconds",
    aggregator: "max",
    help: "Longest processor time that the event loop was held for in one turn, since the metrics were last read.",
    registers: [registry],
    collect() {
      sample();
      this.set(longestUs / 1e6);
      longestUs = 0;
    },
  });
}

function threadTimeUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
