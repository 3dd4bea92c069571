import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "#client/proto/google/rpc/error_details_pb.js";

/** A failed call, in the words and parts that screens show. */
export interface CallProblem {
  readonly kind: "denied" | "not_found" | "invalid" | "limited" | "unavailable" | "failed";
  readonly message: string;
  /** The API's code of the error, such as second_factor_required. Absent if the vault was not reached. */
  readonly code: string | undefined;
  /** Messages by the field's name, as the API names it: `rules[0].container`. */
  readonly fields: ReadonlyMap<string, string>;
  /** For the operator, who finds the call by it. */
  readonly traceId: string | undefined;
  /** Seconds after which a retry makes sense. */
  readonly retryAfter: number | undefined;
}

const KINDS: Readonly<Partial<Record<Code, CallProblem["kind"]>>> = {
  [Code.PermissionDenied]: "denied",
  [Code.NotFound]: "not_found",
  [Code.InvalidArgument]: "invalid",
  [Code.FailedPrecondition]: "invalid",
  [Code.AlreadyExists]: "invalid",
  [Code.Aborted]: "invalid",
  [Code.ResourceExhausted]: "limited",
  [Code.Unavailable]: "unavailable",
  [Code.DeadlineExceeded]: "unavailable",
};
/** In place of the server's, which speaks to programs with keys. */
const MESSAGES: Readonly<Partial<Record<Code, string>>> = {
  [Code.Unauthenticated]: "Your sign-in has ended. Sign in again to go on.",
};
/** What a failed connection is reported as. The vault's own errors of these codes have an ErrorInfo. */
const OF_NETWORK: ReadonlySet<Code> = new Set([Code.Unknown, Code.Internal, Code.Unavailable, Code.DeadlineExceeded]);

/** Whether no vault has answered: the network failed, or something before the vault answered in its stead. */
export function isWithoutResponse(error: unknown): boolean {
  const found = ConnectError.from(error);
  return found.findDetails(ErrorInfoSchema).length === 0 && OF_NETWORK.has(found.code);
}

export function toCallProblem(error: unknown): CallProblem {
  const found = ConnectError.from(error);
  const [info] = found.findDetails(ErrorInfoSchema);
  const [retry] = found.findDetails(RetryInfoSchema);
  const violations = found.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  const isNetwork = isWithoutResponse(error);
  const kind = isNetwork ? "unavailable" : (KINDS[found.code] ?? "failed");
  return {
    kind,
    message: isNetwork ? "The vault does not respond." : (MESSAGES[found.code] ?? found.rawMessage),
    code: info?.reason,
    fields: new Map(violations.map(({ field, description }) => [field, description])),
    traceId: info?.metadata.trace_id,
    retryAfter: retry?.retryDelay === undefined ? undefined : Number(retry.retryDelay.seconds),
  };
}

/** Of a change. Without a response it is unknown whether it was made. */
export function toChangeProblem(error: unknown): CallProblem {
  const problem = toCallProblem(error);
  if (!isWithoutResponse(error)) return problem;
  return {
    ...problem,
    message: "The vault does not respond. The change may have been made all the same: look before you repeat it.",
  };
}
