import { Gauge, type Registry } from "prom-client";

/** Sampling interval of the thread's processor time, in milliseconds. */
const SAMPLE_MS = 10;

/**
 * Measures the longest time that the event loop was blocked. It counts processor time of the main thread, which
 * excludes delays caused by other processes; turns shorter than a sample add up to at most one sample. Disposing of it
 * ends the sampling.
 */
export function gaugeEventLoop(registry: Registry): Disposable {
  let longestUs = 0;
  let lastUs = threadTimeUs();
  const sample = () => {
    const nowUs = threadTimeUs();
    longestUs = Math.max(longestUs, nowUs - lastUs);
    lastUs = nowUs;
  };
  const samples = setInterval(sample, SAMPLE_MS).unref();
  new Gauge({
    name: "cloakroom_event_loop_hold_seconds",
    aggregator: "max",
    help: "Longest processor time for which one turn blocked the event loop, since the metrics were last read.",
    registers: [registry],
    collect() {
      sample();
      this.set(longestUs / 1e6);
      longestUs = 0;
    },
  });
  return { [Symbol.dispose]: () => clearInterval(samples) };
}

function threadTimeUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
