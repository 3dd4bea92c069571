/** The documented access rules, written a second time and in another way: as a table of patterns. */

export const PERMISSIONS = [
  "token:create",
  "token:read",
  "token:search",
  "token:update",
  "token:delete",
  "token:export",
  "token:use",
] as const;
export type Permission = (typeof PERMISSIONS)[number];
export const TRANSFORMS = ["redact", "mask", "reveal"] as const;
export type Transform = (typeof TRANSFORMS)[number];

export interface Rule {
  readonly priority: number;
  readonly container: string;
  readonly transform: Transform;
  readonly permissions: readonly Permission[];
}

/** What an application of the matrix may do. */
export interface Holder {
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly rules: readonly Rule[];
}

/** What a permission without a rule shows: masks, except that `use` shows values, and `delete` has nothing to show. */
const PLAIN_TRANSFORMS: Partial<Record<Permission, Transform>> = { "token:use": "reveal", "token:delete": "redact" };

/** Rules in the order of their priority, then the plain permissions. */
function linesOf({ permissions, rules }: Holder): Rule[] {
  const plain = permissions.map(
    (permission): Rule => ({
      priority: Number.POSITIVE_INFINITY,
      container: "/",
      transform: PLAIN_TRANSFORMS[permission] ?? "mask",
      permissions: [permission],
    }),
  );
  return [...rules, ...plain].sort((a, b) => a.priority - b.priority);
}

export function holds({ permissions, rules }: Holder, permission: Permission): boolean {
  return [...permissions, ...rules.flatMap((rule) => rule.permissions)].includes(permission);
}

/** For an existing token: the first line that has the permission and covers any of its containers. */
export function shownTo(holder: Holder, permission: Permission, containers: readonly string[]): Transform | "refused" {
  const line = linesOf(holder).find(
    (each) => each.permissions.includes(permission) && containers.some((path) => liesIn(path, each.container)),
  );
  return line?.transform ?? "refused";
}

/** For a token that is written: every container needs a line, and the strictest transform wins. */
export function shownWherePut(holder: Holder, permission: Permission, containers: readonly string[]) {
  const shown = containers.map((path) => shownTo(holder, permission, [path]));
  if (shown.includes("refused")) return "refused";
  return TRANSFORMS.find((transform) => shown.includes(transform)) ?? "refused";
}

function liesIn(path: string, container: string): boolean {
  const segments = (text: string) => text.split("/").filter((segment) => segment !== "");
  return segments(container).every((segment, index) => segments(path)[index] === segment);
}
