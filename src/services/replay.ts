import {
  clearField,
  create,
  type DescMessage,
  isMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { ANY_ENTITY_ID, type EntityType } from "../audit/log-entry.js";

export interface ReplayContext {
  /** Of the caller of the repeat, with its current rights. */
  readonly tx: CallerTransaction;
  /** The path variables of the request. The rest of a repeat is ignored, and may be unreadable. */
  readonly resource: readonly string[];
  /** Whether the repeat has the key (or session) of the first request. */
  readonly hasSameKey: boolean;
  /** The key of the caller is public, so the repeat may be another's: it gets {@link ID_FIELDS}, and nothing else. */
  readonly showsIdsOnly: boolean;
}

/** Builds a response after its log row is committed. */
export type ShowReplay<O extends DescMessage> = () => MessageInitShape<O>;

/**
 * What a method returns for a repeat with the same idempotency key: under the caller's current rights, and with a log row.
 * docs/idempotency.md says what each kind of response becomes.
 */
export interface ReplayRule<O extends DescMessage> {
  /** The part of the first response that is stored for a day. */
  keep(response: MessageShape<O>): MessageInitShape<O>;
  /** Checks the caller's rights, writes the log row, and prepares the response. */
  replay(context: ReplayContext, kept: MessageShape<O>): Promise<ShowReplay<O>>;
  /** The response has its ids within other JSON, and the rule itself shows those only where the context asks. */
  readonly showsIdsItself?: boolean;
}

/** A {@link ReplayRule} without the type of its messages. */
export interface ServedReplay {
  keep(response: Message): Message;
  replay(context: ReplayContext, kept: Message): Promise<() => Message>;
}

export function servedReplay<O extends DescMessage>(output: O, rule: ReplayRule<O>): ServedReplay {
  const own = (message: Message): MessageShape<O> => {
    if (!isMessage(message, output)) throw new Error(`a replay was given another message than ${output.typeName}`);
    return message;
  };
  return {
    keep: (response) => create(output, rule.keep(own(response))),
    async replay(context, kept) {
      const show = await rule.replay(context, own(kept));
      return () => {
        const message = create(output, show());
        if (context.showsIdsOnly && rule.showsIdsItself !== true) clearAllButIds(message, output);
        return message;
      };
    },
  };
}

function clearAllButIds(message: Message, { fields }: DescMessage): void {
  for (const field of fields) if (!ID_FIELDS.includes(field.name)) clearField(message, field);
}

/** The fields that a repeat by a public key shows. */
export const ID_FIELDS: readonly string[] = ["id", "type", "tenant_id"];

/**
 * Repeats the whole first response, even after its entity was changed or deleted. For responses that show only what the
 * method's permission allows, which every request needs.
 * @param withoutSecrets removes what was shown once, for repeats with another key than the first request's.
 */
export function replayWhole<O extends DescMessage>(
  entity: EntityType,
  withoutSecrets: (kept: MessageShape<O>) => MessageInitShape<O> = (kept) => kept,
): ReplayRule<O> {
  return {
    keep: (response) => response,
    async replay({ tx, resource, hasSameKey }, kept) {
      tx.log(entity, entityIdOf(kept, resource), "replay");
      return () => (hasSameKey ? kept : withoutSecrets(kept));
    },
  };
}

/** The id in the response, or in the path if the response has none. */
function entityIdOf(kept: Message, [resource]: readonly string[]): string {
  const id: unknown = Reflect.get(kept, "id");
  return typeof id === "string" && id !== "" ? id : (resource?.toLowerCase() ?? ANY_ENTITY_ID);
}
