import { readFileSync } from "node:fs";
import { inject, vi } from "vitest";

/**
 * The line of the operator's log about a call, by its trace. It arrives through a pipe, which may be slow on a busy
 * machine.
 */
export async function logLineOf(headers: Headers): Promise<string> {
  const trace = headers.get("bt-trace-id");
  return vi.waitFor(
    () => {
      const lines = readFileSync(inject("serverLog"), "utf8").split("\n");
      const line = lines.find((text) => text.includes(`"trace_id":"${trace}"`));
      if (line === undefined) throw new Error("the call is not in the log yet");
      return line;
    },
    { interval: 100 },
  );
}
