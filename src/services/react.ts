import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { ReactorService, type ReactResponseSchema } from "../../gen/cloakroom/v1/reactors_pb.js";
import { invalid } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import type { Json } from "../base/json.js";
import { requireNamedDestination } from "../egress/destination.js";
import type { EgressPolicy } from "../egress/egress-policy.js";
import { type ReactOutcome, toRunOutcome } from "../reactors/outcome.js";
import { type AuthorizedRun, authorizeRun, type ReactCall, tokensOfArgs } from "../reactors/react.js";
import { readRunEnd, startRun } from "../reactors/runs.js";
import { type Reply, type ServedMethod, serve } from "./call.js";
import { storedUuid } from "./show.js";
import { toJson, toValue } from "./value.js";

export interface ReactServiceParts {
  readonly policy: EgressPolicy;
  react(call: ReactCall, run: AuthorizedRun, args: Json): Promise<ReactOutcome>;
  wake(tenantId: TenantId): void;
}

export function reactService({ policy, react, wake }: ReactServiceParts): ServedMethod[] {
  const { method } = ReactorService;
  return [
    serve(method.react, async ({ id, args: given, callbackUrl }, call) => {
      const args = readArgs(given);
      const tokens = tokensOfArgs(args);
      if (callbackUrl !== undefined) {
        if (!/^https:/i.test(callbackUrl)) throw invalid("callback_url", "must be an https address");
        requireNamedDestination("callback_url", callbackUrl, policy);
        await call.commit((tx) => startRun(tx, storedUuid(id), { args, callbackUrl }));
        wake(call.caller.tenantId);
        call.reply.accepted();
        return {};
      }
      const run = await call.commitShared((tx) => authorizeRun(tx, storedUuid(id), tokens));
      return showOutcome(await react(call, run, args), call.reply);
    }),
    serve(method.reactAsync, async ({ id, args: given }, call) => {
      const args = readArgs(given);
      tokensOfArgs(args);
      const started = await call.commit((tx) => startRun(tx, storedUuid(id), { args, callbackUrl: undefined }));
      wake(call.caller.tenantId);
      return { asyncReactorRequestId: started };
    }),
    serve(method.getReactorResult, async ({ id, requestId }, call) => {
      const end = await call.commit((tx) => readRunEnd(tx, storedUuid(id), storedUuid(requestId)));
      return showOutcome(toRunOutcome(end), call.reply);
    }),
  ];
}

/** Code may read `req.args` without checking that it exists. */
function readArgs(given: Value | undefined): Json {
  return given ? toJson(given, "args") : {};
}

function showOutcome(outcome: ReactOutcome, reply: Reply): MessageInitShape<typeof ReactResponseSchema> {
  if (outcome.kind === "answered") {
    const { status, headers, body } = outcome.response;
    reply.verbatim(outcome.response);
    const pairs = Object.entries(headers).map(([name, value]) => ({ name, value }));
    return { response: { status, headers: pairs, body: toValue(body) } };
  }
  return {
    ...(outcome.tokens === undefined ? {} : { tokens: toValue(outcome.tokens.shown) }),
    ...(outcome.raw === undefined ? {} : { raw: toValue(outcome.raw) }),
  };
}
