/** `require("timers/promises")`. */
export function createTimersPromises() {
  const wait = (ms: unknown, value: unknown, options: unknown): Promise<unknown> => {
    const { signal } = Object(options);
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const timer = setTimeout(resolve, Number(ms), value);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
  };
  return {
    setTimeout: (ms?: unknown, value?: unknown, options?: unknown) => wait(ms, value, options),
    setImmediate: (value?: unknown, options?: unknown) => wait(0, value, options),
    async *setInterval(ms?: unknown, value?: unknown, options?: unknown) {
      for (;;) {
        await wait(ms, undefined, options);
        yield value;
      }
    },
  };
}
