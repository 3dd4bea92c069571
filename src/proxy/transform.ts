import { invalid } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { parseRuntime, type Runtime } from "../functions/runtime.js";

export type Step =
  /** The tenant's own code, in the sandbox. */
  | CodeStep
  /** Replaces the captures of a pattern, character by character. For responses only. */
  | { readonly type: "mask"; readonly matcher: MaskMatcher; readonly replacement: string }
  /** Creates a token and stores it for later steps. */
  | { readonly type: "tokenize"; readonly identifier: string; readonly token: JsonObject }
  /** Sets a value in a JSON body. */
  | { readonly type: "append_json"; readonly value: Json; readonly location: string }
  | { readonly type: "append_header"; readonly value: string; readonly location: string };

export interface CodeStep {
  readonly type: "code";
  readonly code: string;
  /** Whether the caller named the type. It is the default, and clients of 2023 do not know it. */
  readonly isTypeGiven: boolean;
  readonly runtime: Runtime | undefined;
}

export type MaskMatcher =
  | { readonly kind: "regex"; readonly expression: string }
  /** Any card number with a valid check digit. */
  | { readonly kind: "chase_stratus_pan" };

export interface TransformDraft {
  readonly type: string | undefined;
  readonly code: string | undefined;
  readonly matcher: string | undefined;
  readonly expression: string | undefined;
  readonly replacement: string | undefined;
  readonly options: JsonObject | undefined;
}

/** @throws {Fault} validation_failed naming fields below `field`. */
export function parseTransform(draft: TransformDraft, field: string, isResponse: boolean): Step {
  switch (draft.type ?? "code") {
    case "code":
      return parseCode(draft, field);
    case "mask":
      if (!isResponse) throw invalid(`${field}.type`, "must not be mask: only responses can be masked");
      return parseMask(draft, field);
    case "tokenize": {
      const token = draft.options?.token;
      if (!isJsonObject(token)) throw invalid(`${field}.options.token`, "must be a token to create");
      return { type: "tokenize", identifier: textOption(draft, "identifier", field), token };
    }
    case "append_json": {
      const value = draft.options?.value;
      if (value === undefined) throw invalid(`${field}.options.value`, "must be given");
      return { type: "append_json", value, location: textOption(draft, "location", field) };
    }
    case "append_header": {
      const location = textOption(draft, "location", field);
      if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(location))
        throw invalid(`${field}.options.location`, "must be a header name");
      return { type: "append_header", value: textOption(draft, "value", field), location };
    }
    default:
      throw invalid(`${field}.type`, "must be code, mask, tokenize, append_json or append_header");
  }
}

function parseCode({ type, code, options, ...others }: TransformDraft, field: string): CodeStep {
  if (!code) throw invalid(`${field}.code`, "must be JavaScript: module.exports = async function (req) { ... }");
  for (const name of ["matcher", "expression", "replacement"] as const) {
    // A mask that is ignored would reveal what it was to hide.
    if (others[name]) throw invalid(`${field}.${name}`, "must not be given with code: it belongs to the type mask");
  }
  const runtime = options?.runtime;
  return {
    type: "code",
    code,
    isTypeGiven: type !== undefined,
    runtime: runtime === undefined ? undefined : parseRuntime(runtime, `${field}.options.runtime`),
  };
}

function parseMask({ matcher, expression, replacement }: TransformDraft, field: string): Step {
  if (replacement?.length !== 1) throw invalid(`${field}.replacement`, "must be exactly one character");
  if (matcher === "chase_stratus_pan") return { type: "mask", matcher: { kind: "chase_stratus_pan" }, replacement };
  if (matcher !== "regex") throw invalid(`${field}.matcher`, "must be regex or chase_stratus_pan");
  if (!expression || !hasGroup(expression)) {
    throw invalid(`${field}.expression`, "must be a regular expression with at least one capture group");
  }
  return { type: "mask", matcher: { kind: "regex", expression }, replacement };
}

/**
 * Whether the pattern compiles and has a capture group. An empty alternative before it matches at once and counts the
 * groups: the pattern itself does not run here, where backtracking would stop the server.
 */
function hasGroup(expression: string): boolean {
  try {
    return (new RegExp(`|${expression}`).exec("")?.length ?? 0) > 1;
  } catch {
    return false;
  }
}

function textOption({ options }: TransformDraft, name: string, field: string): string {
  const value = options?.[name];
  if (typeof value !== "string" || value === "")
    throw invalid(`${field}.options.${name}`, "must be a string that is not empty");
  return value;
}

export function writeTransform(transform: Step): JsonObject {
  switch (transform.type) {
    case "code": {
      const { code, isTypeGiven, runtime } = transform;
      return {
        ...(isTypeGiven ? { type: "code" } : {}),
        code,
        ...(runtime ? { options: { runtime: { ...runtime } } } : {}),
      };
    }
    case "mask": {
      const { matcher, replacement } = transform;
      return {
        type: "mask",
        matcher: matcher.kind,
        ...(matcher.kind === "regex" ? { expression: matcher.expression } : {}),
        replacement,
      };
    }
    case "tokenize":
      return { type: "tokenize", options: { identifier: transform.identifier, token: transform.token } };
    case "append_json":
    case "append_header":
      return { type: transform.type, options: { value: transform.value, location: transform.location } };
  }
}

/** Decodes the result of {@link writeTransform} as a draft to be checked again. */
export function readTransform(stored: Json): TransformDraft {
  const object = isJsonObject(stored) ? stored : {};
  const text = (name: string) => {
    const value = object[name];
    return typeof value === "string" ? value : undefined;
  };
  return {
    type: text("type"),
    code: text("code"),
    matcher: text("matcher"),
    expression: text("expression"),
    replacement: text("replacement"),
    options: isJsonObject(object.options) ? object.options : undefined,
  };
}
