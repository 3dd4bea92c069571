import { terminal } from "../../base/terminal.js";
import { printable } from "../printable.js";
import { readTime } from "../time-argument.js";
import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";
import { chosen } from "./chosen.js";

const COLUMNS = ["created_at", "operation", "entity_type", "entity_id", "actor_id", "message"];

/** The options of logs list that a stream does not take. */
const UNFOLLOWED = [
  ...["since", "until", "actor", "actor-type", "key", "operation", "outcome", "code", "transform", "via", "via-type"],
  ...["destination-host", "source-ip", "client", "has-reason", "trace-id", "id", "limit", "all", "timeout"],
];

export const listLogs: Action = async (call) => {
  if (call.isSet("follow")) return followLogs(call);
  if (call.isSet("after")) throw new UsageError("--after goes with --follow.");
  const now = new Date();
  const reason = call.text("has-reason");
  const filter = {
    entityType: call.text("entity-type"),
    entityId: call.text("entity-id"),
    startDate: readTime("since", call.text("since"), now),
    endDate: readTime("until", call.text("until"), now),
    actorId: call.text("actor"),
    actorType: chosen(call, "actor-type", ["application", "user"]),
    keyId: call.text("key"),
    operation: call.text("operation"),
    outcome: chosen(call, "outcome", ["allowed", "denied", "failed"]),
    code: call.text("code"),
    transform: chosen(call, "transform", ["reveal", "mask", "redact"]),
    viaId: call.text("via"),
    viaType: chosen(call, "via-type", ["proxy", "reactor"]),
    destinationHost: call.text("destination-host"),
    sourceIp: call.text("source-ip"),
    client: call.text("client"),
    hasReason: reason === undefined ? undefined : reason === "yes",
    traceId: call.text("trace-id"),
    id: call.text("id"),
    size: call.page().size,
  };
  await call.show(call.client.logs.list(filter, call.options()), COLUMNS);
};

async function followLogs(call: ApiCall): Promise<void> {
  const unfit = UNFOLLOWED.find((flag) => call.isSet(flag));
  if (unfit !== undefined) throw new UsageError(`--${unfit} does not go with --follow.`);
  const filter = { entityType: call.text("entity-type"), entityId: call.text("entity-id"), after: call.text("after") };
  const rows = call.client.logs.follow(filter, { signal: call.signal });
  try {
    for await (const row of rows) call.output.item(row, COLUMNS);
  } finally {
    if (rows.cursor !== undefined && !call.isSet("quiet"))
      terminal().stderr.write(`Continue with --after ${printable(rows.cursor)}\n`);
  }
}
