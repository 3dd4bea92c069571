import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { TokenExportService } from "../../gen/cloakroom/v1/token_exports_pb.js";
import { settledCaller } from "../tenancy/settled-members.js";
import { approveExport, listExports, requestExport } from "../tokens/export-approval.js";
import { type TokenExport, tokenExports } from "../tokens/token-export.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { serveById } from "./serve-by-id.js";
import { storedUuid } from "./show.js";

/** Without a value: the page of a list that is never longer. */
const LIST_SIZE = 20;

export function tokenExportService(): ServedMethod[] {
  const { method } = TokenExportService;
  return [
    serve(method.requestTokenExport, async ({ applicationId, container, type, reason }, call) => {
      const asked = { applicationId: storedUuid(applicationId), container, type, reason };
      return call.transact(async (tx) => requestExport(tx, await settledCaller(tx), asked), show);
    }),
    serve(method.listTokenExports, async (_, call) =>
      call.list(listExports, (found) => ({ pagination: { pageSize: LIST_SIZE }, data: found.map(show) })),
    ),
    serve(method.approveTokenExport, async ({ id }, call) =>
      call.transact(async (tx) => approveExport(tx, await settledCaller(tx), storedUuid(id)), show),
    ),
    serveById(method.deleteTokenExport, (tx, id) => tokenExports.delete(tx, id), showNothing),
  ];
}

function show({ container, type, approvedBy, requestedAt, expiresAt, ...exported }: TokenExport) {
  const { id, applicationId, applicationName, reason, requestedBy, rules, keyIds } = exported;
  return {
    id,
    applicationId,
    applicationName,
    reason,
    requestedBy,
    rules: [...rules],
    keyIds: [...keyIds],
    state: approvedBy === undefined ? "waiting" : "approved",
    ...(container === undefined ? {} : { container }),
    ...(type === undefined ? {} : { type }),
    ...(approvedBy === undefined ? {} : { approvedBy }),
    requestedAt: timestampFromDate(requestedAt),
    expiresAt: timestampFromDate(expiresAt),
  };
}
