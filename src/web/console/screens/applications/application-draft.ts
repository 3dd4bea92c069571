import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Application } from "../../../../../clients/typescript/src/proto/cloakroom/v1/applications_pb.js";

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

/** What a person edits of an application. The rules' order is their priority. */
export interface ApplicationDraft {
  readonly name: string;
  readonly type: ApplicationType;
  readonly permissions: readonly string[];
  readonly rules: readonly RuleDraft[];
  /** One to a line. */
  readonly origins: string;
}

export function emptyDraft(): ApplicationDraft {
  return { name: "", type: "private", permissions: [], rules: [emptyRule()], origins: "" };
}

export function emptyRule(): RuleDraft {
  const permissions = ["token:create", "token:read"];
  const shown = { container: "/", transform: "mask", requiresReason: false };
  return { key: crypto.randomUUID(), description: "", permissions, ...shown };
}

export function draftOf({ name, type, permissions, rules, allowedOrigins }: Application): ApplicationDraft {
  return {
    ...{ name, permissions, origins: allowedOrigins.join("\n") },
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

export function requestOf({ name, permissions, rules, origins }: ApplicationDraft) {
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
    allowedOrigins: origins.split(/\s+/).filter((origin) => origin !== ""),
  };
}

/** The same for a change, in which absent origins would keep the former ones. */
export function updateOf(draft: ApplicationDraft) {
  const { allowedOrigins, ...request } = requestOf(draft);
  return { ...request, allowedOrigins: fromJson(ValueSchema, allowedOrigins) };
}
