import type { Message } from "@bufbuild/protobuf";
import { Fault } from "../../base/fault.js";
import type { ServedStream } from "../../services/served-stream.js";
import { StaleAuthorization } from "../../store/postgres/database-error.js";
import { type Admission, type AdmissionParts, createAdmission, type MethodAdmission } from "../admission/admission.js";
import { compileValidation } from "./validation.js";

/** The way through a method that sends many messages. */
export interface StreamPipeline extends MethodAdmission {
  readonly stream: ServedStream;
  /** Validation and the handler. `signal` ends it. */
  open(admission: Admission, request: Message, signal: AbortSignal): AsyncGenerator<Message>;
}

/** How often a look authorizes again because the tenant's rights changed under it. */
const STALE_ATTEMPTS = 5;

export function buildStreamPipeline(stream: ServedStream, parts: AdmissionParts): StreamPipeline {
  const { desc } = stream;
  const validate = compileValidation(desc.input);
  return {
    stream,
    ...createAdmission(desc, parts),
    async *open({ caller: admitted, renew }, request, signal) {
      if (!admitted) throw new Fault("unauthenticated", "Send an application key in the header BT-API-KEY.");
      validate(request);
      let caller = admitted;
      yield* stream.serve(request, {
        signal,
        get caller() {
          return caller;
        },
        get revision() {
          return caller.revision;
        },
        async read(work) {
          for (let attempt = 1; ; attempt += 1) {
            try {
              return await parts.database.bulk.run(caller.tenantId, caller.revision, work);
            } catch (error) {
              if (!(error instanceof StaleAuthorization) || attempt === STALE_ATTEMPTS) throw error;
              caller = (await renew()) ?? caller;
            }
          }
        },
      });
    },
  };
}
