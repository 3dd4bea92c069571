import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { FailedRunSchema } from "../../gen/cloakroom/v1/functions_pb.js";
import { ProxyService } from "../../gen/cloakroom/v1/proxies_pb.js";
import { ReactorService } from "../../gen/cloakroom/v1/reactors_pb.js";
import type { FailedRun } from "../functions/failed-runs.js";
import { failedRunsOfProxy } from "../proxy/proxies.js";
import { failedRunsOfReactor } from "../reactors/reactor.js";
import { type ServedMethod, serve } from "./call.js";
import { storedUuid } from "./show.js";
import { showConsole, showError, showUsage } from "./show-run.js";

/** Errors of tenants' code, for tenants to read. */
export function failedRunService(): ServedMethod[] {
  return [
    serve(ReactorService.method.listFailedReactorRuns, async ({ id }, call) =>
      call.list(
        (tx) => failedRunsOfReactor(tx, storedUuid(id)),
        (runs) => ({ data: runs.map(showRun) }),
      ),
    ),
    serve(ProxyService.method.listFailedProxyRuns, async ({ id }, call) =>
      call.list(
        (tx) => failedRunsOfProxy(tx, storedUuid(id)),
        (runs) => ({ data: runs.map(showRun) }),
      ),
    ),
  ];
}

function showRun({
  id,
  kind,
  failure,
  console,
  usage,
  createdAt,
}: FailedRun): MessageInitShape<typeof FailedRunSchema> {
  return {
    id,
    kind,
    error: showError(failure),
    console: showConsole(console),
    ...showUsage(usage),
    createdAt: timestampFromDate(createdAt),
  };
}
