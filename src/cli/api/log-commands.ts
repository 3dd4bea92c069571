import type { Action } from "./command.js";

const COLUMNS = ["created_at", "operation", "entity_type", "entity_id", "actor_id", "message"];

export const listLogs: Action = async (call) => {
  const filter = {
    entityType: call.text("entity-type"),
    entityId: call.text("entity-id"),
    startDate: call.text("since"),
    endDate: call.text("until"),
    size: call.page().size,
  };
  await call.show(call.client.logs.list(filter, call.options()), COLUMNS);
};
