import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  isMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { Caller } from "../access/caller.js";
import type { OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Work } from "../store/transactions/transaction.js";

/** One request to a method that sends many messages. */
export interface StreamCall {
  /** With the rights that {@link read} last ran under. */
  readonly caller: Caller;
  readonly keys: TenantKeys;
  /** The revision of the tenant's rights that {@link read} last ran under. */
  readonly revision: number;
  /** Whether the caller's key or sign-in has ended. {@link read} then refuses it, unless it was extended. */
  readonly hasEnded: boolean;
  /** Whether {@link read} last ran long ago: what it read may have expired since, or no longer be the caller's to see. */
  readonly isStale: boolean;
  /** Aborted when the stream must end: the caller left, or the server ends it. */
  readonly signal: AbortSignal;
  /**
   * Runs a transaction under the caller's present rights. The memory for the large values of the one before is released.
   * @throws {Fault} if the key has lost its rights or has ended.
   */
  read<T>(work: Work<T, OrdinaryCallerTransaction>): Promise<T>;
}

/** A method that sends many messages, with its handler, without the types of its messages. */
export interface ServedStream {
  readonly desc: DescMethodServerStreaming;
  /** Ends when the call's signal is aborted. */
  serve(request: Message, call: StreamCall): AsyncGenerator<Message>;
}

export function serveStream<I extends DescMessage, O extends DescMessage>(
  desc: DescMethodServerStreaming<I, O>,
  handler: (request: MessageShape<I>, call: StreamCall) => AsyncGenerator<MessageInitShape<O>>,
): ServedStream {
  return {
    desc,
    async *serve(request, call) {
      if (!isMessage(request, desc.input)) throw new Error(`${desc.name} was given another message`);
      for await (const message of handler(request, call)) yield create(desc.output, message);
    },
  };
}
