import type { Message } from "@bufbuild/protobuf";
import { hasEnded } from "../../access/caller.js";
import { asCaller } from "../../access/caller-database.js";
import { withFreshRights } from "../../access/fresh-rights.js";
import { recordingDenials } from "../../access/refusal.js";
import type { Clock } from "../../base/clock.js";
import { Fault } from "../../base/fault.js";
import { KeyVersionUnknown } from "../../crypto/sealed.js";
import type { ServedStream, StreamCall } from "../../services/served-stream.js";
import type { Keyring } from "../../tenancy/keyring.js";
import { type Admission, type AdmissionParts, createAdmission, type MethodAdmission } from "../admission/admission.js";
import { PageMemory } from "./page-memory.js";
import { compileValidation } from "./validation.js";

export interface StreamPipeline extends MethodAdmission {
  readonly stream: ServedStream;
  /** Validation and the handler. `signal` ends it. */
  open(admission: Admission, request: Message, signal: AbortSignal): AsyncGenerator<Message>;
}

export interface StreamParts extends AdmissionParts {
  readonly keyring: Keyring;
  readonly clock: Clock;
}

/** How long a stream shows what it has read, as it read it. */
const FRESH_MS = 1_000;

export function buildStreamPipeline(stream: ServedStream, parts: StreamParts): StreamPipeline {
  const { desc } = stream;
  const validate = compileValidation(desc.input);
  return {
    stream,
    ...createAdmission(desc, parts),
    async *open({ caller: admitted, renew, head }, request, signal) {
      if (!admitted) throw new Fault("unauthenticated", "Send an application key in the header BT-API-KEY.");
      validate(request);
      let caller = admitted;
      const memory = new PageMemory(head.memory);
      let readAt = Number.NEGATIVE_INFINITY;
      const isOver = () => hasEnded(caller, parts.clock.now());
      const renewed = async () => {
        caller = (await renew()) ?? caller;
      };
      const call: StreamCall = {
        signal,
        keys: await parts.keyring.of(caller.tenantId, caller.revision),
        get caller() {
          return caller;
        },
        get revision() {
          return caller.revision;
        },
        get hasEnded() {
          return isOver();
        },
        get isStale() {
          return parts.clock.now() - readAt > FRESH_MS;
        },
        read(work) {
          const attempt = async () => {
            memory.release();
            readAt = parts.clock.now();
            // An end changes no revision, so no transaction would refuse the caller.
            if (isOver()) await renewed();
            const now = await parts.keyring.of(caller.tenantId, caller.revision);
            return asCaller(parts.database, now, caller, memory).bulk(work);
          };
          return recordingDenials(parts.database, () =>
            withFreshRights(attempt, async (stale) => {
              if (stale instanceof KeyVersionUnknown) parts.keyring.forget(caller.tenantId);
              await renewed();
            }),
          );
        },
      };
      try {
        for await (const message of stream.serve(request, call)) {
          // Read before the end, and perhaps taken long after it.
          if (isOver()) await renewed();
          yield message;
        }
      } finally {
        memory.release();
      }
    },
  };
}
