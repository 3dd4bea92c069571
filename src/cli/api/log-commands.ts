import { terminal } from "../../base/terminal.js";
import { readTime } from "../time-argument.js";
import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";
import type { Action } from "./api-command.js";

const COLUMNS = ["created_at", "operation", "entity_type", "entity_id", "actor_id", "message"];

export const listLogs: Action = async (call) => {
  if (call.isSet("follow")) return followLogs(call);
  if (call.isSet("after")) throw new UsageError("--after goes with --follow.");
  const now = new Date();
  const filter = {
    entityType: call.text("entity-type"),
    entityId: call.text("entity-id"),
    startDate: readTime("since", call.text("since"), now),
    endDate: readTime("until", call.text("until"), now),
    actorId: call.text("actor"),
    actorType: chosen(call, "actor-type", ["application", "user"]),
    operation: call.text("operation"),
    outcome: chosen(call, "outcome", ["allowed", "denied", "failed"]),
    transform: chosen(call, "transform", ["reveal", "mask", "redact"]),
    size: call.page().size,
  };
  await call.show(call.client.logs.list(filter, call.options()), COLUMNS);
};

/** @throws {UsageError} for another text than these. */
function chosen<Choice extends string>(call: ApiCall, flag: string, choices: readonly Choice[]): Choice | undefined {
  const text = call.text(flag);
  if (text === undefined) return undefined;
  const choice = choices.find((known) => known === text);
  if (choice === undefined) throw new UsageError(`--${flag} must be one of ${choices.join(", ")}.`);
  return choice;
}

async function followLogs(call: ApiCall): Promise<void> {
  const unfit = [
    "since",
    "until",
    "actor",
    "actor-type",
    "operation",
    "outcome",
    "transform",
    "limit",
    "all",
    "timeout",
  ].find((flag) => call.isSet(flag));
  if (unfit !== undefined) throw new UsageError(`--${unfit} does not go with --follow.`);
  const filter = { entityType: call.text("entity-type"), entityId: call.text("entity-id"), after: call.text("after") };
  const rows = call.client.logs.follow(filter, { signal: call.signal });
  try {
    for await (const row of rows) call.output.item(row, COLUMNS);
  } finally {
    if (rows.cursor !== undefined && !call.isSet("quiet"))
      terminal().stderr.write(`Continue with --after ${rows.cursor}\n`);
  }
}
