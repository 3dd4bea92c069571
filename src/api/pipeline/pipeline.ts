import { type DescMethod, type Message, toBinary } from "@bufbuild/protobuf";
import type { Caller } from "../../access/caller.js";
import { withFreshRights } from "../../access/fresh-rights.js";
import { Denied, recordDenial, unrecordedDenial } from "../../access/refusal.js";
import { Fault, invalid, withFurtherFaults } from "../../base/fault.js";
import { isLarge, yieldToEventLoop } from "../../base/yield-to-event-loop.js";
import { KeyVersionUnknown } from "../../crypto/sealed.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { ResponseHeaders, ServedMethod, VerbatimResponse } from "../../services/call.js";
import { compileFieldChecks } from "../../services/field-checks.js";
import { forFrame } from "../../services/frame-faults.js";
import { methodPolicy } from "../../services/method-policy.js";
import { operationName } from "../../services/method-roles.js";
import { StaleAuthorization } from "../../store/postgres/database-error.js";
import type { Keyring } from "../../tenancy/keyring.js";
import { type Admission, type AdmissionParts, createAdmission, type MethodAdmission } from "../admission/admission.js";
import type { Visits } from "../browser/visits.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import type { OperatorLog } from "../observation/operator-log.js";
import type { RequestHead } from "../request/request-head.js";
import { readPathVariables } from "../routes/http-rule.js";
import { Idempotency } from "./idempotency.js";
import { replayForFailedRepeat } from "./replay-for-failed-repeat.js";
import { type CollectedReply, RunningCall } from "./running-call.js";
import { TransactingCall } from "./transacting-call.js";
import { compileValidation } from "./validation.js";

export interface MethodResponse {
  readonly message: Message;
  readonly headers: ResponseHeaders;
  /** 202 instead of the method's own status. */
  readonly accepted: boolean;
  /** REST responds with this instead of the message. */
  readonly verbatim: VerbatimResponse | undefined;
  /** The message without what may not be kept. */
  lasting(): Message;
}

/** The one way through a method, for all protocols: built once, run for each request. */
export interface Pipeline extends MethodAdmission {
  readonly method: ServedMethod;
  /** Whether a request says in a mask what it changes. */
  readonly takesMask: boolean;
  run(admission: Admission, request: ReceivedRequest): Promise<MethodResponse>;
}

export interface ReceivedRequest {
  readonly message: Message;
  /** Why the request could not be read. Of the message only the path is there then. */
  readonly unreadable?: Fault | undefined;
  /** What could be read of it, to find what else is wrong. */
  readonly partial?: Message | undefined;
}

export interface PipelineParts extends AdmissionParts {
  readonly keyring: Keyring;
  readonly log: OperatorLog;
  readonly visits: Pick<Visits, "setCookie">;
}

/** Says that a response is that of an earlier request with the same idempotency key. */
const REPLAYED = ["bt-idempotency-replayed", "true"] as const;

export function buildPipeline(method: ServedMethod, parts: PipelineParts): Pipeline {
  const { desc } = method;
  const run = runOf(method, parts);
  return {
    method,
    takesMask: methodPolicy(desc).mergePatch,
    ...createAdmission(desc, parts),
    async run({ head, caller: admitted, renew }, request) {
      let caller = admitted;
      try {
        return await head.memory.during(() =>
          withFreshRights(
            () => run(head, caller, request),
            async (stale) => {
              if (stale instanceof KeyVersionUnknown && !caller) throw stale;
              if (stale instanceof KeyVersionUnknown && caller) parts.keyring.forget(caller.tenantId);
              caller = await renew();
            },
          ),
        );
      } catch (error) {
        if (error instanceof StaleAuthorization) {
          throw new Fault("conflict", "The rights of the key used keep changing. Try again shortly.");
        }
        throw caller?.frame ? forFrame(error) : error;
      }
    },
  };
}

type RunMethod = (head: RequestHead, caller: Caller | undefined, request: ReceivedRequest) => Promise<MethodResponse>;

/** Validation, idempotency and the handler of one method, under rights that may turn out to be stale. */
function runOf(method: ServedMethod, parts: PipelineParts): RunMethod {
  const { desc } = method;
  const rpc = rpcOf(desc);
  const validate = compileValidation(desc.input);
  const fieldChecks = compileFieldChecks(desc);
  const idempotencyOf = idempotencyReader(method);
  const updateMask = desc.input.fields.find(({ message }) => message?.typeName === "google.protobuf.FieldMask");

  /** Adds to a refusal all other problems of the request, also those that a later step would find. */
  const everyFault = (fault: Fault, request: Message | undefined): Fault =>
    request ? withFurtherFaults(fault, [() => validate(request), ...fieldChecks(request)]) : fault;

  const shownTo = (caller: Caller | undefined, message: Message) =>
    caller?.frame ? method.shownToFrame(message) : message;

  return async (head, caller, { message: request, unreadable, partial }) => {
    const bytes = head.memory.bodyBytes;
    if (isLarge(bytes)) await yieldToEventLoop(bytes);
    const call = new RunningCall(parts, rpc, head, caller);
    const { reply } = call;
    if (head.header("bt-idempotency-key") !== undefined) {
      call.keys = await callerKeys(caller, parts);
      call.idempotency = await idempotencyOf(head, request, caller, call.keys);
    }
    try {
      if (unreadable) throw unreadable;
      if (updateMask && Reflect.get(request, updateMask.localName) === undefined) {
        throw invalid("update_mask", "must name the fields to change");
      }
      validate(request);
      if (isLarge(bytes)) await yieldToEventLoop(bytes);
      // A request without an idempotency key needs them only once it is valid.
      call.keys ??=
        caller && (parts.keyring.known(caller.tenantId, caller.revision) ?? (await callerKeys(caller, parts)));
      const served = await method.serve(request, (output) => new TransactingCall(output, call));
      const message = shownTo(caller, served);
      return {
        message,
        headers: replyHeaders(method.headersOf(message), reply, parts),
        accepted: reply.isAccepted,
        verbatim: reply.written,
        lasting: () => shownTo(caller, reply.lasting?.() ?? served),
      };
    } catch (thrown) {
      if (!call.hasTransaction && isRefusal(thrown)) await requirePresentRights(caller, parts);
      const error = await recorded(thrown, caller, method, parts);
      const replay = error instanceof Fault ? await replayForFailedRepeat(desc.output, call, error) : undefined;
      const message = replay && shownTo(caller, replay);
      if (!message) throw error instanceof Fault ? everyFault(error, unreadable ? partial : request) : error;
      const headers = replyHeaders(method.headersOf(message), reply, parts);
      return { message, headers, accepted: reply.isAccepted, verbatim: undefined, lasting: () => message };
    }
  };
}

/** The keys of the caller's tenant. */
async function callerKeys(caller: Caller | undefined, { keyring }: PipelineParts): Promise<TenantKeys | undefined> {
  return caller && keyring.of(caller.tenantId, caller.revision);
}

/** Whether a request failed because of itself or its caller. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof Denied || (thrown instanceof Fault && FAULT_TABLE[thrown.code].http < 500);
}

/**
 * What refuses a request before its transaction may depend on rights that were read up to a minute ago: a template that the
 * application has by now, or a key that is deleted. Those of people are read for each request.
 * @throws {StaleAuthorization} if the rights have changed since.
 */
async function requirePresentRights(caller: Caller | undefined, { database }: PipelineParts): Promise<void> {
  if (caller?.principal.kind !== "application") return;
  const { tenantId, revision } = caller;
  try {
    await database.of(tenantId, { revision }).shared(async () => {});
  } catch (error) {
    // A database that is away does not change what is wrong with the request.
    if (error instanceof StaleAuthorization) throw error;
  }
}

/** What a request failed with. A denial leaves its log row first. */
async function recorded(
  thrown: unknown,
  caller: Caller | undefined,
  { desc }: ServedMethod,
  { database }: PipelineParts,
): Promise<unknown> {
  const denial = thrown instanceof Fault ? unrecordedDenial(caller, thrown, operationName(desc)) : thrown;
  return denial instanceof Denied ? recordDenial(database, denial) : thrown;
}

function replyHeaders(
  own: ResponseHeaders,
  { isReplayed, cookie }: CollectedReply,
  { visits }: PipelineParts,
): ResponseHeaders {
  const replayed = isReplayed ? [...own, REPLAYED] : own;
  return cookie ? [...replayed, ["set-cookie", visits.setCookie(cookie)]] : replayed;
}

type ReadIdempotency = (
  head: RequestHead,
  request: Message,
  caller: Caller | undefined,
  keys: TenantKeys | undefined,
) => Promise<Idempotency | undefined>;

/** Reads the idempotency key of a request. @throws Error where the method takes keys and has no rule for replays. */
function idempotencyReader({ desc, replay: rule }: ServedMethod): ReadIdempotency {
  const { idempotent } = methodPolicy(desc);
  const rpc = rpcOf(desc);
  if (idempotent && !rule) throw new Error(`${rpc} takes idempotency keys and has no rule for replays`);
  const path = readPathVariables(desc);
  const resourceFields = desc.input.fields.filter(({ name }) => path.includes(name));
  return async (head, request, caller, keys) => {
    const key = idempotent ? head.header("bt-idempotency-key") : undefined;
    if (key === undefined || !caller || !keys || !rule) return undefined;
    const resource = resourceFields.map((field) => String(Reflect.get(request, field.localName)));
    const body = toBinary(desc.input, request);
    if (isLarge(body.length)) await yieldToEventLoop(body.length);
    return new Idempotency({ key, method: rpc, resource, body, rule }, caller, keys);
  };
}

function rpcOf({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}
