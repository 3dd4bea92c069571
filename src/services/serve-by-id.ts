import type { DescMessage, DescMethodUnary, Message, MessageInitShape } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { Caller } from "../access/caller.js";
import type { OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import type { Uuid } from "../base/ids.js";
import { type ServedMethod, type ServeOptions, serve } from "./call.js";
import { storedUuid } from "./show.js";

type WithId = GenMessage<Message & { readonly id: string }>;

/** A method of one entity, whose id is all that it takes from the request. */
export function serveById<O extends DescMessage, T>(
  desc: DescMethodUnary<WithId, O>,
  work: (tx: OrdinaryCallerTransaction, id: Uuid) => Promise<T>,
  show: (result: T, caller: Caller) => MessageInitShape<O>,
  options?: ServeOptions<O>,
): ServedMethod {
  return serve(desc, ({ id }, call) => call.transact((tx) => work(tx, storedUuid(id)), show), options);
}
