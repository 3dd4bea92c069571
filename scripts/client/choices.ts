import type { DescField } from "@bufbuild/protobuf";
import { APPLICATION_TYPES, PERMISSIONS, TOKEN_PERMISSIONS } from "../../src/access/permissions.js";
import { ROLES } from "../../src/access/role.js";
import { GIVEN_ROLES } from "../../src/tenancy/role.js";
import { tokenTypes } from "../../src/tokens/types/registry.js";

/** Texts of which the server knows these, by the name of their type in the client. */
const CHOICES: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ["ApplicationType", APPLICATION_TYPES],
  ["GivenRole", GIVEN_ROLES],
  ["PermissionName", PERMISSIONS.map(({ permission }) => permission)],
  ["RoleName", ROLES],
  ["TokenPermission", TOKEN_PERMISSIONS],
  ["TokenType", tokenTypes.map(({ name }) => name)],
]);

const FIELDS: ReadonlyMap<string, string> = new Map([
  ...["Application.type", "ExplainedAccess.type"].map((field) => [field, "ApplicationType"] as const),
  ...["CreateInvitationRequest.role", "UpdateMemberRequest.role"].map((field) => [field, "GivenRole"] as const),
  ...[
    "Application",
    "CreateApplicationRequest",
    "UpdateApplicationRequest",
    "AuthorizeSessionRequest",
    "AccessDraft",
  ].map((message) => [`${message}.permissions`, "PermissionName"] as const),
  ["Permission.type", "PermissionName"],
  ...["Member.role", "Invitation.role", "Role.name"].map((field) => [field, "RoleName"] as const),
  ...["AccessRule.permissions", "ExplainAccessRequest.permission"].map((field) => [field, "TokenPermission"] as const),
  ...["Token", "CreateTokenRequest", "ListTokensRequest", "ListTokensByCursorRequest"].map(
    (message) => [`${message}.type`, "TokenType"] as const,
  ),
]);

/** The type of a field with known choices. A newer server may know others, and callers read some from their settings. */
export function choicesFor(field: DescField): string | undefined {
  const name = FIELDS.get(`${field.parent.name}.${field.name}`);
  return name === undefined ? undefined : `Open<${name}>`;
}

export function choiceTypes(): readonly string[] {
  return [...CHOICES].map(([name, values]) => {
    return `export type ${name} = ${values.map((value) => JSON.stringify(value)).join(" | ")};`;
  });
}
