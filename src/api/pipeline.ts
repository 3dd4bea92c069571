import { create, getOption, type Message, toBinary } from "@bufbuild/protobuf";
import { AuthMode, policy as policyOption } from "../../gen/cloakroom/v1/options_pb.js";
import type { Authenticator } from "../access/authenticate.js";
import { type Caller, keyProofOf } from "../access/caller.js";
import { isPermission, mayHold, type Permission } from "../access/permissions.js";
import { Denied, deniedWith, recordDenial } from "../access/refusal.js";
import { Fault, invalid, permissionDenied, withFurtherFaults } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { KeyVersionUnknown } from "../crypto/sealed.js";
import type { AnswerHeaders, Reply, ServedMethod, VerbatimAnswer } from "../services/call.js";
import { fieldChecksOf } from "../services/field-checks.js";
import type { Database } from "../store/database.js";
import { StaleAuthorization } from "../store/database-error.js";
import type { Keyring } from "../tenancy/keyring.js";
import { earlierAnswer } from "./earlier-answer.js";
import { Idempotency } from "./idempotency.js";
import type { OperatorLog } from "./operator-log.js";
import type { RequestHead } from "./request-head.js";
import { pathVariablesOf } from "./rest/rest-method.js";
import { type CallParts, transactingCall } from "./transacting-call.js";
import { compileValidation } from "./validation.js";

/** A request that may have its body read. */
export interface Admission {
  readonly head: RequestHead;
  readonly caller: Caller | undefined;
  /** Reads the caller's rights again: they changed since. */
  renew(): Promise<Caller | undefined>;
}

export interface Answer {
  readonly message: Message;
  readonly headers: AnswerHeaders;
  /** 202 instead of the method's own status. */
  readonly accepted: boolean;
  /** What REST answers in place of the message. */
  readonly verbatim: VerbatimAnswer | undefined;
  /** The message without what may not be kept. */
  lasting(): Message;
}

/** The one way through a method, for all protocols: built once, run for each request. */
export interface Pipeline {
  readonly method: ServedMethod;
  /** Whether a request says in a mask what it changes. */
  readonly takesMask: boolean;
  /** Authentication and permission, before the body is read. */
  admit(head: RequestHead): Promise<Admission>;
  /** The same for a caller that is known already: code that acts as an application. */
  admitCaller(head: RequestHead, caller: Caller, renew: Admission["renew"]): Promise<Admission>;
  /**
   * Validation, idempotency and the handler.
   * @param unreadable says why a request could not be read, of which only the path is there then.
   * @param partial what could be read of it, to find what else is wrong.
   */
  run(admission: Admission, request: Message, unreadable?: Fault, partial?: Message): Promise<Answer>;
}

export interface PipelineParts {
  readonly authenticator: Authenticator;
  readonly database: Database;
  readonly keyring: Keyring;
  readonly log: OperatorLog;
}

/** Says that an answer is that of an earlier request with the same idempotency key. */
const REPLAYED = ["bt-idempotency-replayed", "true"] as const;

/** How often a request authorizes again because the tenant's rights changed under it. */
const STALE_ATTEMPTS = 5;

export function buildPipeline(method: ServedMethod, parts: PipelineParts): Pipeline {
  const { desc } = method;
  const policy = getOption(desc, policyOption);
  const requires = policy.requires.map(asPermission);
  const requiresOneOf = policy.requiresOneOf.map(asPermission);
  const rpc = `${desc.parent.typeName}/${desc.name}`;
  const validate = compileValidation(desc.input, create(desc.input));
  const fieldChecks = fieldChecksOf(desc);
  const path = pathVariablesOf(desc);
  const resourceFields = desc.input.fields.filter(({ name }) => path.includes(name));
  const { replay: rule } = method;
  if (policy.idempotent && !rule) throw new Error(`${rpc} takes idempotency keys and has no rule for replays`);
  const updateMask = desc.input.fields.find(({ message }) => message?.typeName === "google.protobuf.FieldMask");

  const missingFrom = ({ grant }: Caller) =>
    requires.find((permission) => !grant.holds(permission)) ??
    (requiresOneOf.some((permission) => grant.holds(permission)) ? undefined : requiresOneOf[0]);

  const authorize = async (head: RequestHead): Promise<Caller | undefined> => {
    const key = head.header("bt-api-key");
    if (policy.auth === AuthMode.OPTIONAL && !key) return undefined;
    const caller = await parts.authenticator.authenticate(key);
    if (policy.auth === AuthMode.OPTIONAL) return caller;
    if (missingFrom(caller) === undefined) {
      // Also of what needs no permission: such a session has no access at all (the specification, Sessions).
      const unauthorized = caller.grant.isEmpty ? caller.session : undefined;
      if (unauthorized) throw await recordDenial(parts.database, unauthorizedSession(caller, unauthorized.id));
      return caller;
    }
    // What is remembered may be old, and nothing guards a refusal: it is told of rights that were just read.
    parts.authenticator.forget(key ?? "");
    const current = await parts.authenticator.authenticate(key);
    const missing = missingFrom(current);
    if (missing) throw await recordDenial(parts.database, lacking(current, missing));
    return current;
  };

  const idempotencyOf = async (head: RequestHead, caller: Caller | undefined, request: Message) => {
    const key = policy.idempotent ? head.header("bt-idempotency-key") : undefined;
    if (key === undefined || !caller || !rule) return undefined;
    const keys = await parts.keyring.of(caller.tenantId);
    const resource = resourceFields.map((field) => String(Reflect.get(request, field.localName)));
    return new Idempotency({ key, method: rpc, resource, body: toBinary(desc.input, request), rule }, caller, keys);
  };

  const answer = async (
    head: RequestHead,
    caller: Caller | undefined,
    request: Message,
    unreadable: Fault | undefined,
    partial: Message | undefined,
  ): Promise<Answer> => {
    const reply = new CollectedReply();
    const headersOf = (message: Message) => [...method.headersOf(message), ...(reply.isReplayed ? [REPLAYED] : [])];
    let idempotency = await idempotencyOf(head, caller, request);
    const call: CallParts = {
      ...{ database: parts.database, caller, head, reply },
      takeIdempotency() {
        const taken = idempotency;
        idempotency = undefined;
        return taken;
      },
      onDifferentRepeat: () =>
        parts.log.warn({ trace_id: head.traceId, rpc }, "an idempotency key was repeated with another request"),
    };
    try {
      if (unreadable) throw unreadable;
      if (updateMask && Reflect.get(request, updateMask.localName) === undefined) {
        throw invalid("update_mask", "must name the fields to change");
      }
      validate(request);
      const message = await method.serve(request, (output) => transactingCall(output, call));
      return {
        ...{ message, headers: headersOf(message), accepted: reply.isAccepted, verbatim: reply.written },
        lasting: () => reply.lasting?.() ?? message,
      };
    } catch (thrown) {
      const error = thrown instanceof Denied ? await recordDenial(parts.database, thrown) : thrown;
      const message = error instanceof Fault ? await earlierAnswer(desc.output, call, error) : undefined;
      if (!message) throw error instanceof Fault ? everyFault(error, unreadable ? partial : request) : error;
      const headers = headersOf(message);
      return { message, headers, accepted: reply.isAccepted, verbatim: undefined, lasting: () => message };
    }
  };

  /** A request that is refused is told all of its problems, those that a later step would find included. */
  const everyFault = (fault: Fault, request: Message | undefined): Fault =>
    request ? withFurtherFaults(fault, [() => validate(request), ...fieldChecks(request)]) : fault;

  return {
    method,
    takesMask: policy.mergePatch,
    async admit(head) {
      const renew = () => {
        parts.authenticator.forget(head.header("bt-api-key") ?? "");
        return authorize(head);
      };
      const caller = await authorize(head);
      if (caller) {
        parts.database.fast.requireRoom(caller.tenantId);
        head.memory.prove(keyProofOf(caller));
      }
      return { head, caller, renew };
    },
    async admitCaller(head, caller, renew) {
      const renewed = async () => {
        const current = await renew();
        const missing = current && missingFrom(current);
        if (current && missing) throw await recordDenial(parts.database, lacking(current, missing));
        return current;
      };
      // As above, a refusal is told of rights that were just read.
      const current = missingFrom(caller) === undefined ? caller : await renewed();
      return { head, caller: current, renew: renewed };
    },
    async run({ head, caller: admitted, renew }, request, unreadable, partial) {
      let caller = admitted;
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await answer(head, caller, request, unreadable, partial);
        } catch (error) {
          if (error instanceof KeyVersionUnknown && caller && attempt < STALE_ATTEMPTS) {
            parts.keyring.forget(caller.tenantId);
          } else if (!(error instanceof StaleAuthorization)) throw error;
          if (attempt === STALE_ATTEMPTS) {
            throw new Fault("conflict", "The rights of the key used keep changing. Try again shortly.");
          }
          caller = await renew();
        }
      }
    },
  };
}

class CollectedReply implements Reply {
  isAccepted = false;
  isReplayed = false;
  written: VerbatimAnswer | undefined;
  lasting: (() => Message) | undefined;

  accepted(): void {
    this.isAccepted = true;
  }

  replayed(): void {
    this.isReplayed = true;
  }

  verbatim(answer: VerbatimAnswer): void {
    this.written = answer;
  }

  keepAs(message: () => Message): void {
    this.lasting = message;
  }
}

/** A session asked for something before it was authorized. */
function unauthorizedSession(caller: Caller, id: Uuid): Denied {
  const fault = new Fault("permission_denied", "The session is not authorized.");
  return deniedWith(caller, fault, "session", id, "not authorized");
}

/** A known key asked for what it may not do at all. */
function lacking(caller: Caller, permission: Permission): Denied {
  const fault = permissionDenied(permission, hintFor(caller, permission));
  return deniedWith(caller, fault, "application", caller.application.id, permission);
}

/** Which key to use instead, where the type of the caller's application rules the permission out. */
function hintFor({ application, session }: Caller, permission: Permission): string | undefined {
  if (session || mayHold(application.type, permission)) return undefined;
  if (application.type === "management") {
    return "a management key manages applications and never touches tokens. Use the key of a private or public application.";
  }
  return mayHold("management", permission) ? "only the key of a management application can hold it." : undefined;
}

function asPermission(text: string): Permission {
  if (!isPermission(text)) throw new Error(`the protos require an unknown permission: ${text}`);
  return text;
}
