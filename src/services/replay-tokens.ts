import { timestampDate, type Value } from "@bufbuild/protobuf/wkt";
import type { Token, TokenizeResponseSchema, TokenSchema } from "../../gen/cloakroom/v1/tokens_pb.js";
import type { LogEntry } from "../audit/log-entry.js";
import { parseIsoTime } from "../base/iso-time.js";
import { setOwnProperty } from "../base/json.js";
import { SharedBudget } from "../expressions/shared-budget.js";
import { findReplayedLeaf, findReplayedToken, ResponseReplay, showReplayedToken } from "../tokens/replay.js";
import type { KeptToken } from "../tokens/replay-right.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { showingTo, viewToJson } from "../tokens/view.js";
import { ID_FIELDS, type ReplayContext, type ReplayRule } from "./replay.js";
import { showToken } from "./show-token.js";
import { toValue } from "./value.js";

/**
 * Responses with a token are stored without its value. A repeat reads the token again, and shows what the caller may
 * currently see. For a deleted token the id, type and containers remain.
 */
export function replayToken(
  permission: "token:create" | "token:update",
  bins: BinTable | undefined,
): ReplayRule<typeof TokenSchema> {
  return {
    keep: keptToken,
    async replay({ tx }, response) {
      const kept = keptOf(response);
      const found = await findReplayedToken(tx, permission, kept, new ResponseReplay((entry) => tx.record(entry)));
      return () => {
        if (!found) return keptToken(response);
        const view = showReplayedToken(tx.keys, found, showingTo(tx.caller, bins));
        return showToken({ ...view, ...(response.extras ? { deduplicated: kept.deduplicated } : {}) });
      };
    },
  };
}

function keptToken({ id, tenantId, type, containers, createdBy, createdAt, modifiedBy, modifiedAt, extras }: Token) {
  return {
    id,
    tenantId,
    type,
    containers,
    ...(createdBy === undefined ? {} : { createdBy }),
    ...(createdAt ? { createdAt } : {}),
    ...(modifiedBy === undefined ? {} : { modifiedBy }),
    ...(modifiedAt ? { modifiedAt } : {}),
    ...(extras ? { extras } : {}),
  };
}

function keptOf({ id, type, containers, createdAt, modifiedAt, extras }: Token): KeptToken {
  return {
    id,
    type,
    containers,
    createdAt: createdAt && timestampDate(createdAt),
    modifiedAt: modifiedAt && timestampDate(modifiedAt),
    deduplicated: extras?.deduplicated ?? false,
  };
}

export function replayTokenize(bins: BinTable | undefined): ReplayRule<typeof TokenizeResponseSchema> {
  return {
    showsIdsItself: true,
    keep: ({ value }) => (value ? { value: withTokens(value, (token) => keptObject(token)) } : {}),
    async replay(context, { value }) {
      if (!value) return () => ({});
      const shown = await findAll(context, value, bins);
      if (context.showsIdsOnly) return () => ({ value: withTokens(value, (token) => objectOf(token, ID_FIELDS)) });
      return () => ({ value: withTokens(value, (token) => shown.get(token)?.() ?? keptObject(token)) });
    },
  };
}

export type ObjectFields = Readonly<Record<string, Value>>;

/** Reads every token of a tokenize response again. A token that is missing from the map shows its stored response. */
async function findAll(
  { tx }: ReplayContext,
  value: Value,
  bins: BinTable | undefined,
): Promise<ReadonlyMap<ObjectFields, () => Value>> {
  const tokens: ObjectFields[] = [];
  const leaves: string[] = [];
  visit(
    value,
    (token) => tokens.push(token),
    (id) => leaves.push(id),
  );
  const showing = showingTo(tx.caller, bins, new SharedBudget());
  const shown = new Map<ObjectFields, () => Value>();
  const entries: LogEntry[] = [];
  const replay = new ResponseReplay((entry) => entries.push(entry));
  await Promise.all([
    ...tokens.map(async (fields) => {
      const kept = keptOfObject(fields);
      const found = await findReplayedToken(tx, "token:create", kept, replay);
      if (!found) return;
      const view = () => ({ ...showReplayedToken(tx.keys, found, showing), deduplicated: kept.deduplicated });
      shown.set(fields, () => toValue(viewToJson(view())));
    }),
    ...leaves.map((id) => findReplayedLeaf(tx, id, replay)),
  ]);
  for (const entry of entries) tx.record(entry);
  return shown;
}

/**
 * Whether an object of a tokenize response is a token. Every value of the request became a token id, which is a text, so
 * only the `_extras` of tokens contain booleans.
 */
function isToken(fields: ObjectFields): boolean {
  const extras = Object.hasOwn(fields, "_extras") ? fields._extras?.kind : undefined;
  return extras?.case === "structValue" && extras.value.fields.deduplicated?.kind.case === "boolValue";
}

function visit(value: Value, onToken: (fields: ObjectFields) => void, onLeaf: (id: string) => void): void {
  const { kind } = value;
  if (kind.case === "stringValue") onLeaf(kind.value);
  if (kind.case === "listValue") for (const item of kind.value.values) visit(item, onToken, onLeaf);
  if (kind.case !== "structValue") return;
  const { fields } = kind.value;
  if (isToken(fields)) onToken(fields);
  else for (const item of Object.values(fields)) visit(item, onToken, onLeaf);
}

export function withTokens(value: Value, replace: (token: ObjectFields) => Value): Value {
  const { kind } = value;
  if (kind.case === "listValue") {
    const values = kind.value.values.map((item) => withTokens(item, replace));
    return valueWith({ case: "listValue", value: { $typeName: "google.protobuf.ListValue", values } });
  }
  if (kind.case !== "structValue") return value;
  if (isToken(kind.value.fields)) return replace(kind.value.fields);
  const fields: Record<string, Value> = {};
  for (const [key, item] of Object.entries(kind.value.fields)) setOwnProperty(fields, key, withTokens(item, replace));
  return structWith(fields);
}

export function structWith(fields: Record<string, Value>): Value {
  return valueWith({ case: "structValue", value: { $typeName: "google.protobuf.Struct", fields } });
}

/** A new message: one that is spread from a {@link JsonValue} would keep its JSON, with what was left out of it. */
function valueWith(kind: Value["kind"]): Value {
  return { $typeName: "google.protobuf.Value", kind };
}

const KEPT_FIELDS = [
  ...["id", "tenant_id", "type", "containers"],
  ...["created_by", "created_at", "modified_by", "modified_at", "_extras"],
];

function keptObject(token: ObjectFields): Value {
  return objectOf(token, KEPT_FIELDS);
}

function objectOf(token: ObjectFields, names: readonly string[]): Value {
  return structWith(Object.fromEntries(Object.entries(token).filter(([name]) => names.includes(name))));
}

function keptOfObject(fields: ObjectFields): KeptToken {
  const text = (name: string) => {
    const kind = fields[name]?.kind;
    return kind?.case === "stringValue" ? kind.value : undefined;
  };
  const time = (name: string) => parseIsoTime(text(name) ?? "");
  const containers = fields.containers?.kind;
  const extras = fields._extras?.kind;
  const deduplicated = extras?.case === "structValue" ? extras.value.fields.deduplicated?.kind : undefined;
  return {
    id: text("id") ?? "",
    type: text("type") ?? "",
    containers:
      containers?.case === "listValue"
        ? containers.value.values.flatMap(({ kind }) => (kind.case === "stringValue" ? kind.value : []))
        : [],
    createdAt: time("created_at"),
    modifiedAt: time("modified_at"),
    deduplicated: deduplicated?.case === "boolValue" && deduplicated.value,
  };
}
