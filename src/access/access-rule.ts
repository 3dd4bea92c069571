import { invalid } from "../base/fault.js";
import { FieldFaultList } from "../base/field-fault-list.js";
import { isJsonObject, type Json, type JsonObject, textIn } from "../base/json.js";
import { type ContainerPath, parseContainer } from "./container.js";
import {
  type ApplicationType,
  isPermission,
  isTokenPermission,
  mayHold,
  type Permission,
  type TokenPermission,
} from "./permissions.js";

/** How much of a token a response shows: nothing, the evaluated mask, or the value. */
export const TRANSFORMS = ["redact", "mask", "reveal"] as const;
export type Transform = (typeof TRANSFORMS)[number];

export function isTransform(text: string): text is Transform {
  return TRANSFORMS.some((transform) => transform === text);
}

/** Narrows a session's rule to tokens with a certain id or container. */
export interface AccessCondition {
  readonly attribute: "id" | "container";
  readonly operator: "equals" | "starts_with";
  readonly value: string;
}

/** What a rule covers: the containers below a path or, in sessions, the tokens that meet all conditions. */
export type RuleScope =
  | { readonly kind: "container"; readonly container: ContainerPath }
  | { readonly kind: "conditions"; readonly conditions: readonly AccessCondition[] };

/** Grants token permissions within its scope. The matching rule with the lowest priority number decides. */
export interface AccessRule {
  readonly description: string | undefined;
  readonly priority: number;
  readonly scope: RuleScope;
  readonly transform: Transform;
  readonly permissions: readonly TokenPermission[];
  /** Values in the clear are shown only to requests with a reason. */
  readonly requiresReason: boolean;
}

/** A rule as a caller wrote it. */
export interface AccessRuleDraft {
  readonly description: string | undefined;
  readonly priority: number;
  readonly container: string | undefined;
  readonly conditions: readonly AccessCondition[];
  readonly transform: string | undefined;
  readonly permissions: readonly string[];
  readonly requiresReason: boolean;
}

export interface AccessRights {
  readonly permissions: readonly Permission[];
  readonly rules: readonly AccessRule[];
}

/** Of all rules of an application or session together. The rights of thousands of keys are kept in memory. */
const MAX_RULES_CHARACTERS = 100_000;

/** @throws {Fault} validation_failed for rules that are too large to be stored. */
export function requireRulesSize(rules: readonly AccessRule[]): void {
  const size = rules.reduce((sum, rule) => sum + ruleCharacters(rule), 0);
  if (size > MAX_RULES_CHARACTERS)
    throw invalid("rules", `must have at most ${MAX_RULES_CHARACTERS} characters in all`);
}

export function ruleCharacters({ description = "", scope }: AccessRule): number {
  const texts = scope.kind === "container" ? [scope.container] : scope.conditions.map(({ value }) => value);
  return texts.reduce((sum, { length }) => sum + length, description.length);
}

/** @throws {Fault} validation_failed with every wrong field. */
export function parseRights(
  holder: ApplicationType | "session",
  permissions: readonly string[],
  rules: readonly AccessRuleDraft[],
): AccessRights {
  const faults = new FieldFaultList();
  const report = (field: string, text: string) => faults.add(field, text);
  if (permissions.length === 0 && rules.length === 0) {
    report("permissions", "must be given, or rules");
  }
  const known = permissions.filter((permission, index): permission is Permission => {
    const problem = permissionProblem(holder, permission);
    if (problem) report(`permissions[${index}]`, problem);
    return problem === undefined;
  });
  if (holder === "management" && rules.length > 0) {
    report("rules", "must not be given: a management application takes permissions");
  }
  const parsed = rules.flatMap((rule, index) => parseRule(holder, rule, `rules[${index}]`, report));
  const priorities = new Set<number>();
  for (const [index, { priority }] of rules.entries()) {
    if (priorities.has(priority)) report(`rules[${index}].priority`, "must be unique among the rules");
    priorities.add(priority);
  }
  faults.throwIfAny();
  return { permissions: [...new Set(known)], rules: parsed.toSorted((a, b) => a.priority - b.priority) };
}

function parseRule(
  holder: ApplicationType | "session",
  draft: AccessRuleDraft,
  path: string,
  report: (field: string, text: string) => void,
): AccessRule[] {
  const scope = parseScope(holder, draft, path, report);
  const { transform } = draft;
  if (transform === undefined || !isTransform(transform))
    report(`${path}.transform`, "must be one of: redact, mask, reveal");
  const permissions = draft.permissions.filter((permission, index): permission is TokenPermission => {
    const problem = isTokenPermission(permission)
      ? permissionProblem(holder, permission)
      : "must be a token permission";
    if (problem) report(`${path}.permissions[${index}]`, problem);
    return isTokenPermission(permission);
  });
  const { description, priority, requiresReason } = draft;
  if (requiresReason && transform !== "reveal") {
    report(`${path}.requires_reason`, "must not be true without the transform reveal");
  }
  if (!scope || transform === undefined || !isTransform(transform)) return [];
  return [{ description, priority, scope, transform, permissions: [...new Set(permissions)], requiresReason }];
}

function parseScope(
  holder: ApplicationType | "session",
  draft: AccessRuleDraft,
  path: string,
  report: (field: string, text: string) => void,
): RuleScope | undefined {
  if (draft.conditions.length > 0) {
    if (holder !== "session") report(`${path}.conditions`, "must not be given outside of sessions; give a container");
    else if (draft.container !== undefined) report(`${path}.conditions`, "must not be given together with a container");
    else return { kind: "conditions", conditions: draft.conditions };
    return undefined;
  }
  if (draft.container === undefined) {
    report(`${path}.container`, "must be a container path such as /pci/");
    return undefined;
  }
  try {
    return { kind: "container", container: parseContainer(draft.container, `${path}.container`) };
  } catch {
    report(`${path}.container`, "must be a container path such as /pci/");
    return undefined;
  }
}

function permissionProblem(holder: ApplicationType | "session", permission: string): string | undefined {
  if (!isPermission(permission)) return "must be a permission that GET /permissions lists";
  if (holder === "session")
    return isTokenPermission(permission) ? undefined : "must be a token permission: a session holds no others";
  return mayHold(holder, permission) ? undefined : `must be a permission that a ${holder} application may hold`;
}

/** A rule in its stored form. */
export function writeRule(rule: AccessRule): JsonObject {
  const { description, priority, scope, transform, permissions, requiresReason } = rule;
  return {
    ...(description === undefined ? {} : { description }),
    priority,
    ...(scope.kind === "container"
      ? { container: scope.container }
      : { conditions: scope.conditions.map((condition): JsonObject => ({ ...condition })) }),
    transform,
    permissions: [...permissions],
    ...(requiresReason ? { requires_reason: true } : {}),
  };
}

/**
 * Reads a stored rule as a draft, which must be checked again.
 * @throws {Error} for a form or a condition that this release does not know: without it the rules would allow more.
 */
export function readRule(stored: Json): AccessRuleDraft {
  if (!isJsonObject(stored)) throw new Error("an access rule of an unknown form is stored");
  const { conditions = [] } = stored;
  if (!Array.isArray(conditions)) throw new Error("an access rule with unknown conditions is stored");
  return {
    description: textIn(stored.description),
    priority: typeof stored.priority === "number" ? stored.priority : 0,
    container: textIn(stored.container),
    conditions: conditions.map(readCondition),
    transform: textIn(stored.transform),
    permissions: storedList(stored.permissions).flatMap((item) => textIn(item) ?? []),
    requiresReason: stored.requires_reason === true,
  };
}

function readCondition(stored: Json): AccessCondition {
  const { attribute, operator, value } = isJsonObject(stored) ? stored : {};
  const isKnown =
    (attribute === "id" || attribute === "container") && (operator === "equals" || operator === "starts_with");
  if (!isKnown || typeof value !== "string") throw new Error("an access rule with an unknown condition is stored");
  return { attribute, operator, value };
}

function storedList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
