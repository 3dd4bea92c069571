import { MINUTE_MS } from "../../base/clock.js";
import type { SinkName } from "../../sinks/sink.js";
import type { Database } from "../../store/database.js";
import { OUTAGE_MS } from "./log-outages.js";

/** A sentence for each sink that is behind with some tenant's log. */
export async function laggingSinks(
  database: Pick<Database, "oldestDue">,
  sinks: readonly SinkName[],
  now: Date,
): Promise<readonly string[]> {
  if (sinks.length === 0) return [];
  const oldest = await database.oldestDue();
  return sinks.flatMap((sink) => {
    const behind = now.getTime() - (oldest.get(`log_${sink}`) ?? now).getTime();
    if (behind < OUTAGE_MS) return [];
    return `The log sink ${sink} has not got log rows for ${Math.floor(behind / MINUTE_MS)} minutes. They are kept until it has.`;
  });
}
