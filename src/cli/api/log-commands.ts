import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";

const COLUMNS = ["created_at", "operation", "entity_type", "entity_id", "actor_id", "message"];

export const listLogs: Action = async (call) => {
  if (call.isSet("follow")) return followLogs(call);
  if (call.isSet("after")) throw new UsageError("--after goes with --follow.");
  const filter = {
    entityType: call.text("entity-type"),
    entityId: call.text("entity-id"),
    startDate: call.text("since"),
    endDate: call.text("until"),
    size: call.page().size,
  };
  await call.show(call.client.logs.list(filter, call.options()), COLUMNS);
};

async function followLogs(call: ApiCall): Promise<void> {
  const unfit = ["since", "until", "limit", "all", "timeout"].find((flag) => call.isSet(flag));
  if (unfit !== undefined) throw new UsageError(`--${unfit} does not go with --follow.`);
  const filter = { entityType: call.text("entity-type"), entityId: call.text("entity-id"), after: call.text("after") };
  const rows = call.client.logs.follow(filter, { signal: call.signal });
  try {
    for await (const row of rows) call.output.item(row, COLUMNS);
  } finally {
    if (rows.cursor !== undefined && !call.isSet("quiet"))
      process.stderr.write(`Continue with --after ${rows.cursor}\n`);
  }
}
