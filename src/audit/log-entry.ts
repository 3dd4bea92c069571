import { newUuid, type Uuid } from "../base/ids.js";
import type { Actor } from "./actor.js";

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
  proxy: "Proxy",
  reactor: "Reactor",
  reactor_formula: "Reactor Formula",
  report: "Report",
  role: "Role",
  session: "Session",
  sign_in: "Sign-In",
  social_security_number: "Social Security Number",
  tenant: "Tenant",
  three_ds_session: "3DS Session",
  token: "Token",
  transaction: "Transaction",
  us_bank_account_number: "US Bank Account Number",
  us_bank_routing_number: "US Bank Routing Number",
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

/** The entity type in log rows for a token of this type. */
export function tokenEntityType(tokenType: string): EntityType {
  const found = TOKEN_TYPES.find((type) => type === tokenType);
  if (found === undefined) throw new Error(`no entity type for tokens of type ${tokenType}`);
  return found;
}

/** The entity types that a filter matches: `token` matches tokens of every type. */
export function entityTypesMatching(filter: string): readonly string[] {
  return filter === "token" ? TOKEN_TYPES : [filter];
}

/** Operations, and how messages name them. */
const OPERATIONS = {
  create: "created",
  read: "retrieved",
  list: "listed",
  search: "searched",
  update: "updated",
  delete: "deleted",
  use: "used",
  expire: "expired",
  authorize: "authorized",
  resend: "resent",
  accept: "accepted",
  invoke: "invoked",
  replay: "replayed",
  test: "tested",
  refuse: "refused",
} as const;

export type Operation = keyof typeof OPERATIONS;

/** The entity id of a row about a list or a search: no single entity was touched. */
export const ALL = "*";

/** One row of the log. Its message consists of fixed words: no data, no ids of values, no caller's input. */
export interface LogEntry {
  readonly id: Uuid;
  readonly actor: Actor | undefined;
  readonly entityType: EntityType;
  readonly entityId: string;
  readonly operation: Operation;
  readonly message: string;
}

/**
 * Creates a row of the log.
 * @param remark fixed words, never a caller's input.
 */
export function logEntry(
  actor: Actor | undefined,
  entityType: EntityType,
  entityId: string,
  operation: Operation,
  remark?: string,
): LogEntry {
  const message = `${ENTITY_TYPES[entityType]} ${OPERATIONS[operation]}${remark ? `: ${remark}` : ""}`;
  return { id: newUuid(), actor, entityType, entityId, operation, message };
}
