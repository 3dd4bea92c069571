import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import type { ReactNode } from "react";
import { useChange } from "../api/queries.js";
import { useLeaveTo } from "../use-leave-to.js";
import { Confirm } from "./confirm.js";

interface DeleteEntityProps<I extends DescMessage> {
  readonly method: DescMethodUnary<I, DescMessage>;
  readonly request: MessageInitShape<I>;
  /** Such as "proxy". */
  readonly kind: string;
  /** The path of the list, which is shown next. */
  readonly list: string;
  /** What is lost. */
  readonly children: ReactNode;
}

/** A button that deletes an entity once its person has agreed. Nothing for a role that may not delete it. */
export function DeleteEntity<I extends DescMessage>({ method, request, kind, list, children }: DeleteEntityProps<I>) {
  const leaveTo = useLeaveTo();
  const { isAllowed, run, ...change } = useChange(method);
  if (!isAllowed) return null;
  const confirmed = () => run(request, () => leaveTo(list));
  return (
    <Confirm {...change} action="Delete" title={`Delete this ${kind}?`} onConfirm={confirmed}>
      <p>{children}</p>
    </Confirm>
  );
}
