import { newUuid } from "../base/ids.js";
import type { LogRowDraft } from "../store/audit/audit-logs.js";
import type { Actor } from "./actor.js";
import { type AuditContext, EMPTY_CONTEXT } from "./audit-context.js";
import { type EventType, findEventType } from "./event-types.js";
import { type LogChange, writeChanges } from "./log-changes.js";

/** Entity types of log rows with their display names. GET /logs/entity-types lists them. */
export const ENTITY_TYPES = {
  application: "Application",
  application_key: "Application Key",
  bank: "Bank",
  card: "Card",
  card_number: "Card Number",
  connection: "Connection",
  connection_formula: "Connection Formula",
  employer_id_number: "Employer ID Number",
  invitation: "Invitation",
  log: "Log",
  member: "Member",
  passkey: "Passkey",
  proxy: "Proxy",
  reactor: "Reactor",
  reactor_formula: "Reactor Formula",
  refund: "Refund",
  report: "Report",
  role: "Role",
  session: "Session",
  sign_in: "Sign-In",
  social_security_number: "Social Security Number",
  tenant: "Tenant",
  three_ds_session: "3DS Session",
  token: "Token",
  token_export: "Token Export",
  transaction: "Transaction",
  us_bank_account_number: "US Bank Account Number",
  us_bank_routing_number: "US Bank Routing Number",
  webhook: "Webhook",
} as const;

export type EntityType = keyof typeof ENTITY_TYPES;

/** The entity types of tokens: a log row names a token by the token's own type. */
const TOKEN_TYPES = [
  "token",
  "bank",
  "card",
  "card_number",
  "employer_id_number",
  "social_security_number",
  "us_bank_account_number",
  "us_bank_routing_number",
] as const satisfies readonly EntityType[];

const NAMES_OF_TOKEN_TYPES: ReadonlySet<string> = new Set(TOKEN_TYPES);

export function tokenEntityType(tokenType: string): EntityType {
  const found = TOKEN_TYPES.find((type) => type === tokenType);
  if (found === undefined) throw new Error(`no entity type for tokens of type ${tokenType}`);
  return found;
}

/** The entity types that a filter matches: `token` matches tokens of every type. */
export function entityTypesMatching(filter: string): readonly string[] {
  return filter === "token" ? TOKEN_TYPES : [filter];
}

/** Operations, and how messages name them. Those of the vault's own log are in vault-log.ts. */
const OPERATIONS = {
  create: "created",
  read: "retrieved",
  list: "listed",
  import: "imported",
  export: "exported",
  search: "searched",
  update: "updated",
  delete: "deleted",
  use: "used",
  expire: "expired",
  authorize: "authorized",
  confirm: "confirmed",
  resend: "resent",
  accept: "accepted",
  approve: "approved",
  invoke: "invoked",
  complete: "completed",
  fail: "failed",
  break: "broken",
  replay: "replayed",
  test: "tested",
  refuse: "refused",
  pause: "paused",
  resume: "resumed",
} as const;

export type Operation = keyof typeof OPERATIONS;

/** The entity id of a row about a list or a search: no single entity was touched. */
export const ANY_ENTITY_ID = "*";

export type Outcome = "allowed" | "denied" | "failed";

/** How much of a token a request was shown. */
export type ShownAs = "reveal" | "mask" | "redact";

/** One row of the log. Its message consists of fixed words: no data, no ids of values, no caller's input. */
export interface LogEntry extends LogRowDraft {
  readonly actor: Actor | undefined;
  readonly context: AuditContext;
  readonly entityType: EntityType;
  readonly operation: Operation;
  readonly outcome: Outcome;
  readonly transform: ShownAs | undefined;
  /** The event that webhooks get of it. */
  readonly event: EventType | undefined;
}

/** What a row says beside actor, entity and operation. */
export interface EntryDetails {
  /** Fixed words, never a caller's input. */
  readonly remark?: string | undefined;
  readonly outcome?: Outcome;
  readonly code?: string | undefined;
  readonly transform?: ShownAs | undefined;
  /** Neither secrets nor values of tokens. */
  readonly changes?: readonly LogChange[];
  /** Absent: the server itself. */
  readonly actor?: Actor | undefined;
  /** The request, for entries without an actor. */
  readonly context?: AuditContext;
}

/** @param details a text is the remark. */
export function logEntry(
  entityType: EntityType,
  entityId: string,
  operation: Operation,
  details: string | EntryDetails = {},
): LogEntry {
  const given: EntryDetails = typeof details === "string" ? { remark: details } : details;
  const { remark, outcome = "allowed", actor } = given;
  const subject = NAMES_OF_TOKEN_TYPES.has(entityType) ? "token" : entityType;
  // One literal without spreads: V8 grows an object that others are spread into by a few fields at a time, which took four
  // times as much memory for each row.
  return {
    id: newUuid(),
    actor,
    context: given.context ?? actor?.context ?? EMPTY_CONTEXT,
    entityType,
    entityId,
    operation,
    message: `${ENTITY_TYPES[entityType]} ${OPERATIONS[operation]}${remark ? `: ${remark}` : ""}`,
    outcome,
    code: given.code,
    transform: given.transform,
    changes: given.changes && writeChanges(given.changes),
    event: entityId === ANY_ENTITY_ID ? undefined : findEventType({ subject, operation, outcome, remark }),
  };
}
