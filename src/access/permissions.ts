/** The kinds of application. The kind decides only which permissions an application may have. */
export const APPLICATION_TYPES = ["private", "public", "management"] as const;
export type ApplicationType = (typeof APPLICATION_TYPES)[number];

export function isApplicationType(text: string): text is ApplicationType {
  return APPLICATION_TYPES.some((type) => type === text);
}

interface PermissionFacts {
  readonly description: string;
  readonly types: readonly ApplicationType[];
}

const BACK_END: readonly ApplicationType[] = ["private"];
const FRONT_AND_BACK_END: readonly ApplicationType[] = ["public", "private"];
const MANAGEMENT: readonly ApplicationType[] = ["management"];

/** All permissions, under the names that the published clients use. */
const FACTS = {
  "token:create": { description: "Create tokens", types: FRONT_AND_BACK_END },
  "token:read": { description: "Read tokens", types: BACK_END },
  "token:search": { description: "Search tokens", types: BACK_END },
  "token:update": { description: "Update tokens", types: FRONT_AND_BACK_END },
  "token:delete": { description: "Delete tokens", types: BACK_END },
  "token:import": { description: "Import tokens, where token:create allows it, batch by batch", types: BACK_END },
  "token:export": { description: "Export tokens in bulk", types: BACK_END },
  "token:use": { description: "Use tokens in proxies, reactors and transactions", types: BACK_END },
  "tenant:read": { description: "Read the tenant", types: MANAGEMENT },
  "tenant:update": { description: "Update the tenant", types: MANAGEMENT },
  "tenant:delete": { description: "Delete the tenant", types: MANAGEMENT },
  "tenant:member:read": { description: "Read members", types: MANAGEMENT },
  "tenant:member:update": { description: "Update members", types: MANAGEMENT },
  "tenant:member:delete": { description: "Remove members", types: MANAGEMENT },
  "tenant:invitation:create": { description: "Invite members", types: MANAGEMENT },
  "tenant:invitation:read": { description: "Read invitations", types: MANAGEMENT },
  "tenant:invitation:update": { description: "Resend invitations", types: MANAGEMENT },
  "tenant:invitation:delete": { description: "Withdraw invitations", types: MANAGEMENT },
  "application:create": { description: "Create applications and keys", types: MANAGEMENT },
  "application:read": { description: "Read applications and keys", types: MANAGEMENT },
  "application:update": { description: "Update applications", types: MANAGEMENT },
  "application:delete": { description: "Delete applications and keys", types: MANAGEMENT },
  "log:read": { description: "Read logs", types: MANAGEMENT },
  "report:read": { description: "Read reports", types: MANAGEMENT },
  "reactor:create": { description: "Create reactors and reactor formulas", types: MANAGEMENT },
  "reactor:read": { description: "Read reactors and reactor formulas", types: MANAGEMENT },
  "reactor:update": { description: "Update reactors and reactor formulas", types: MANAGEMENT },
  "reactor:delete": { description: "Delete reactors and reactor formulas", types: MANAGEMENT },
  "proxy:create": { description: "Create proxies", types: MANAGEMENT },
  "proxy:read": { description: "Read proxies", types: MANAGEMENT },
  "proxy:update": { description: "Update proxies", types: MANAGEMENT },
  "proxy:delete": { description: "Delete proxies", types: MANAGEMENT },
  "webhooks:create": { description: "Create webhooks", types: MANAGEMENT },
  "webhooks:read": { description: "Read webhooks and their deliveries", types: MANAGEMENT },
  "webhooks:update": { description: "Change and test webhooks, replay deliveries", types: MANAGEMENT },
  "webhooks:delete": { description: "Delete webhooks", types: MANAGEMENT },
  "orchestration:connections:create": { description: "Create connections", types: MANAGEMENT },
  "orchestration:connections:update": { description: "Read and update connections", types: MANAGEMENT },
  "orchestration:connections:delete": { description: "Delete connections", types: MANAGEMENT },
  "orchestration:connection_formulas": { description: "List connection formulas", types: MANAGEMENT },
  "orchestration:transaction:capture": { description: "Capture transactions", types: BACK_END },
  "3ds:session:create": { description: "Create 3DS sessions", types: FRONT_AND_BACK_END },
  "3ds:session:read": { description: "Read 3DS sessions", types: BACK_END },
  "3ds:session:authenticate": { description: "Authenticate 3DS sessions", types: BACK_END },
} as const satisfies Record<string, PermissionFacts>;

export type Permission = keyof typeof FACTS;

/** Permissions that access rules decide per container. */
export const TOKEN_PERMISSIONS = [
  "token:create",
  "token:read",
  "token:search",
  "token:update",
  "token:delete",
  "token:export",
  "token:use",
] as const satisfies readonly Permission[];
export type TokenPermission = (typeof TOKEN_PERMISSIONS)[number];

export interface PermissionEntry extends PermissionFacts {
  readonly permission: Permission;
}

export const PERMISSIONS: readonly PermissionEntry[] = Object.keys(FACTS)
  .filter(isPermission)
  .map((permission) => ({ permission, ...FACTS[permission] }));

export function isPermission(text: string): text is Permission {
  return Object.hasOwn(FACTS, text);
}

export function isTokenPermission(text: string): text is TokenPermission {
  return TOKEN_PERMISSIONS.some((permission) => permission === text);
}

export function mayHold(type: ApplicationType, permission: Permission): boolean {
  return FACTS[permission].types.some((holder) => holder === type);
}
