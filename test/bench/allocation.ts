import type { Readable } from "node:stream";
import { startBenchServer } from "./bench-server.js";
import { measure } from "./measure.js";
import { say } from "./table.js";
import { tokenPlans } from "./tokens.js";

/** Names of the operations whose garbage is measured. */
const OPERATIONS = [
  "POST /tokens (card)",
  "GET /tokens/{id}, reveal",
  "POST /tokenize, 100 leaves, 1 caller",
  "POST /detokenize, 100 references, 1 caller",
];

/** What a request allocates on the server's heap, from V8's garbage-collection trace. */
export async function allocationRows(build: string): Promise<ReadonlyMap<string, number>> {
  await using server = await startBenchServer({}, undefined, { build, flags: ["--trace-gc"] });
  const plans = await tokenPlans(server);
  const collections = new Collections(server.output);
  const kilobytes = new Map<string, number>();
  for (const plan of plans.filter(({ operation }) => OPERATIONS.includes(operation))) {
    // V8 makes some objects only until it has compiled a function for good, which takes a thousand requests or so.
    await measure(server, { ...plan, warmUp: 0, duration: 10_000 });
    const before = collections.allocatedMb;
    const [warmUp, duration] = [500, 4_500];
    const { requestsPerSecond } = await measure(server, { ...plan, warmUp, duration });
    const requests = (requestsPerSecond * (warmUp + duration)) / 1_000;
    const each = ((collections.allocatedMb - before) * 1_024) / requests;
    kilobytes.set(plan.operation, each);
    say(`${plan.operation.padEnd(44)}${each.toFixed(0).padStart(7)} KB allocated a request`);
  }
  return kilobytes;
}

/** Adds up the allocations between collections: `Scavenge 40.3 (60.1) -> 33.0 (60.3) MB`. */
class Collections {
  allocatedMb = 0;
  #after: number | undefined;
  #rest = "";

  constructor(output: Readable) {
    output.on("data", (text: string) => {
      const lines = `${this.#rest}${text}`.split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) this.#read(line);
    });
  }

  #read(line: string): void {
    const [, before, after] =
      /(?:Scavenge|Mark-Compact).* ([\d.]+) \([\d.]+\) -> ([\d.]+) \([\d.]+\) MB/.exec(line) ?? [];
    if (before === undefined || after === undefined) return;
    if (this.#after !== undefined) this.allocatedMb += Math.max(0, Number(before) - this.#after);
    this.#after = Number(after);
  }
}
