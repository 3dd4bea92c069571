import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Application } from "#client/proto/cloakroom/v1/applications_pb.js";
import { templatesOfText, textOfTemplates, valueOfTemplates } from "./token-templates.js";

export type ApplicationType = "private" | "public" | "management";

export interface RuleDraft {
  /** For React. */
  readonly key: string;
  readonly description: string;
  readonly container: string;
  readonly transform: string;
  readonly permissions: readonly string[];
  /** Whether reads by the rule need a reason. */
  readonly requiresReason: boolean;
}

export interface ApplicationDraft {
  readonly name: string;
  readonly type: ApplicationType;
  readonly permissions: readonly string[];
  readonly rules: readonly RuleDraft[];
  /** One to a line. */
  readonly allowedOrigins: string;
  /** A JSON list, as the API takes it. */
  readonly templates: string;
  readonly allowsPageRequests: boolean;
}

const NO_PAGES = { allowedOrigins: "", templates: "", allowsPageRequests: false };

export function emptyDraft(): ApplicationDraft {
  return { name: "", type: "private", permissions: [], rules: [emptyRule()], ...NO_PAGES };
}

/** The permission of a new rule: every role may give it to an application of every type that has rules. */
const FIRST_PERMISSION = "token:create";

/** A draft for another type, without permissions that this one may not hold. */
export function withType(draft: ApplicationDraft, type: ApplicationType): ApplicationDraft {
  const rules = draft.rules.map((rule) => ({
    ...rule,
    permissions: rule.permissions.filter((permission) => permission === FIRST_PERMISSION),
  }));
  return { ...draft, type, permissions: [], rules };
}

export function emptyRule(): RuleDraft {
  const permissions = [FIRST_PERMISSION];
  const shown = { container: "/", transform: "mask", requiresReason: false };
  return { key: crypto.randomUUID(), description: "", permissions, ...shown };
}

export function openApplicationDraft(application: Application): ApplicationDraft {
  const { name, type, permissions, rules, allowedOrigins, templates, allowPageRequests = false } = application;
  return {
    name,
    permissions,
    allowedOrigins: allowedOrigins.join("\n"),
    allowsPageRequests: allowPageRequests,
    templates: textOfTemplates(templates),
    type: type === "public" || type === "management" ? type : "private",
    rules: rules
      .toSorted((one, other) => one.priority - other.priority)
      .map((rule) => ({
        key: crypto.randomUUID(),
        description: rule.description ?? "",
        container: rule.container ?? "",
        transform: rule.transform ?? "mask",
        permissions: rule.permissions,
        requiresReason: rule.requiresReason ?? false,
      })),
  };
}

export function applicationRequest(draft: ApplicationDraft) {
  const { name, permissions, rules, allowedOrigins, templates, allowsPageRequests } = draft;
  return {
    name: name.trim(),
    permissions: [...permissions],
    rules: rules.map((rule, index) => ({
      ...(rule.description.trim() === "" ? {} : { description: rule.description.trim() }),
      priority: index + 1,
      container: rule.container.trim(),
      transform: rule.transform,
      permissions: [...rule.permissions],
      ...(rule.requiresReason ? { requiresReason: true } : {}),
    })),
    allowedOrigins: allowedOrigins.split(/\s+/).filter((origin) => origin !== ""),
    templates: templatesOfText(templates) ?? [],
    ...(allowsPageRequests ? { allowPageRequests: true } : {}),
  };
}

/** The same for a change, in which absent properties of pages would stay as they are. */
export function applicationUpdate(draft: ApplicationDraft) {
  const { allowedOrigins, templates: _, allowPageRequests = false, ...request } = applicationRequest(draft);
  const lists = { allowedOrigins: fromJson(ValueSchema, allowedOrigins), templates: valueOfTemplates(draft.templates) };
  return draft.type === "public" ? { ...request, ...lists, allowPageRequests } : request;
}
