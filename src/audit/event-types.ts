export interface Effect {
  /** The kind of entity: `token` for those of all tokens. */
  readonly subject: string;
  readonly operation: string;
  readonly outcome: string;
  readonly remark: string | undefined;
}

/** The events of each kind of entity, by the operation of the log row, by the published interface's names where it has one. */
const EVENTS = {
  application: { create: "application.created", update: "application.updated", delete: "application.deleted" },
  application_key: { create: "application.key.created", delete: "application.key.deleted" },
  invitation: {
    create: "tenant.invitation.created",
    resend: "tenant.invitation.resent",
    accept: "tenant.invitation.accepted",
    delete: "tenant.invitation.deleted",
  },
  log: { break: "audit.broken" },
  member: { create: "tenant.member.created", update: "tenant.member.updated", delete: "tenant.member.deleted" },
  proxy: {
    create: "proxy.created",
    update: "proxy.updated",
    delete: "proxy.deleted",
    invoke: "proxy.invoked",
  },
  reactor: {
    create: "reactor.created",
    update: "reactor.updated",
    delete: "reactor.deleted",
    invoke: "reactor.invoked",
    complete: "reactor.completed",
    fail: "reactor.failed",
  },
  refund: { create: "refund.created", update: "refund.updated" },
  session: { create: "session.created", authorize: "session.authorized" },
  tenant: { update: "tenant.updated" },
  three_ds_session: {
    create: "3ds.session.created",
    authorize: "3ds.session.authenticated",
    update: "3ds.session.challenge-completed",
  },
  token: {
    create: "token.created",
    read: "token.read",
    update: "token.updated",
    delete: "token.deleted",
    expire: "token.expired",
  },
  transaction: { create: "transaction.created", update: "transaction.updated" },
} as const;

type EventsOf<Kind> = Kind[keyof Kind];
export type EventType = { [Kind in keyof typeof EVENTS]: EventsOf<(typeof EVENTS)[Kind]> }[keyof typeof EVENTS];

const BY_KIND: Readonly<Record<string, Readonly<Record<string, EventType>>>> = EVENTS;

/** The types of events that webhooks can ask for. */
export const EVENT_TYPES: readonly EventType[] = Object.values(BY_KIND)
  .flatMap(Object.values<EventType>)
  .sort();

export function isEventType(text: string): text is EventType {
  return EVENT_TYPES.some((type) => type === text);
}

/**
 * Remarks of rows that change nothing which a receiver could read: an existing token was found, an access was explained,
 * an operator worked on keys or the plan.
 */
const NOTHING_HAPPENED: readonly (string | undefined)[] = [
  "deduplicated",
  "access explained",
  "plan",
  "keys rotated",
  "retired keys destroyed",
  "root key replaced",
];

/** The event of a log row. Undefined: none, as for refusals, lists and replays. A payment that failed has one. */
export function findEventType({ subject, operation, outcome, remark }: Effect): EventType | undefined {
  if (outcome === "denied" || NOTHING_HAPPENED.includes(remark)) return undefined;
  return BY_KIND[subject]?.[operation];
}
