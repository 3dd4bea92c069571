import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { TokenExportService } from "../../gen/cloakroom/v1/token_exports_pb.js";
import {
  approveExport,
  listExports,
  requestExport,
  type TokenExport,
  tokenExports,
} from "../tokens/export-approval.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { uuidOf } from "./show.js";

/** Without a value: the page of a list that is never longer. */
const LIST_SIZE = 20;

/** Approvals of exports by two people. */
export function tokenExportService(): ServedMethod[] {
  const { method } = TokenExportService;
  return [
    serve(method.requestTokenExport, async ({ applicationId, container, type, reason }, call) =>
      call.transact((tx) => requestExport(tx, { applicationId: uuidOf(applicationId), container, type, reason }), show),
    ),
    serve(method.listTokenExports, async (_, call) =>
      call.list(listExports, (found) => ({ pagination: { pageSize: LIST_SIZE }, data: found.map(show) })),
    ),
    serve(method.approveTokenExport, async ({ id }, call) =>
      call.transact((tx) => approveExport(tx, uuidOf(id)), show),
    ),
    serve(method.deleteTokenExport, async ({ id }, call) =>
      call.transact((tx) => tokenExports.delete(tx, uuidOf(id)), showNothing),
    ),
  ];
}

function show({ container, type, approvedBy, requestedAt, expiresAt, ...shown }: TokenExport) {
  return {
    ...shown,
    state: approvedBy === undefined ? "waiting" : "approved",
    ...(container === undefined ? {} : { container }),
    ...(type === undefined ? {} : { type }),
    ...(approvedBy === undefined ? {} : { approvedBy }),
    requestedAt: timestampFromDate(requestedAt),
    expiresAt: timestampFromDate(expiresAt),
  };
}
