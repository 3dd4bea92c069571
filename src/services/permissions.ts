import { PermissionService } from "../../gen/cloakroom/v1/applications_pb.js";
import { PERMISSIONS } from "../access/permissions.js";
import { authorizeOnly, type ServedMethod, serve } from "./call.js";
import { explainAccess } from "./explain-access.js";

export function permissionService(): ServedMethod[] {
  return [
    explainAccess(),
    serve(PermissionService.method.listPermissions, async ({ applicationType }, call) => {
      const data = PERMISSIONS.filter(
        ({ types }) => applicationType === undefined || types.some((type) => type === applicationType),
      ).map(({ permission, description, types }) => ({ type: permission, description, applicationTypes: [...types] }));
      return call.transact(authorizeOnly, () => ({ data }));
    }),
  ];
}
