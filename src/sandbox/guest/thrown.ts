import { type PublishedErrorName, publishedErrors } from "../guest-error.js";
import { positionIn, type SourcePosition } from "../source-position.js";
import { errorTexts } from "./error-texts.js";
import { writeJson } from "./intrinsics.js";
import { CustomHttpResponseError, ReactorError } from "./reactor-errors.js";

/** The report of a thrown value for the worker: its JSON, and the body of a custom response as JSON. */
export interface ThrownReport {
  readonly report: string;
  readonly body: string;
}

const UNREADABLE = '{"type":"other","errors":{"error":["The code threw a value that cannot be read."]}}';

/** The engine's error for a failed allocation. */
export function isOutOfMemory(thrown: unknown): boolean {
  try {
    return thrown instanceof Error && thrown.name === "InternalError" && thrown.message === "out of memory";
  } catch {
    return false;
  }
}

/**
 * Describes a value thrown by tenants' code, which may be hostile: a getter that throws, a proxy.
 * @param isWrapped whether the code is CommonJS.
 */
export function describeThrown(thrown: unknown, isWrapped: boolean): ThrownReport {
  try {
    if (thrown instanceof CustomHttpResponseError) return describeCustom(thrown);
    const described =
      thrown instanceof ReactorError ? describePublished(thrown) : { type: "other", errors: otherTexts(thrown) };
    const report = { ...described, position: positionOf(thrown, isWrapped) };
    return { report: writeJson(report) ?? UNREADABLE, body: "null" };
  } catch {
    return { report: UNREADABLE, body: "null" };
  }
}

function positionOf(thrown: unknown, isWrapped: boolean): SourcePosition | undefined {
  try {
    return thrown instanceof Error ? positionIn(String(thrown.stack).slice(0, 10_000), isWrapped) : undefined;
  } catch {
    return undefined;
  }
}

function describePublished(thrown: ReactorError) {
  return { type: "published", name: publishedName(thrown.status, thrown.name), errors: errorTexts(thrown.errors) };
}

/** A tenant's class derived from a published one counts as that one. */
function publishedName(status: number, name: string): PublishedErrorName {
  if (isPublishedName(name)) return name;
  const names = Object.keys(publishedErrors).filter(isPublishedName);
  return names.find((known) => publishedErrors[known].status === status) ?? "ReactorRuntimeError";
}

function isPublishedName(name: string): name is PublishedErrorName {
  return Object.hasOwn(publishedErrors, name);
}

function describeCustom(thrown: CustomHttpResponseError): ThrownReport {
  const headers = Object.entries(Object(thrown.headers)).map(([name, value]) => [name, String(value)]);
  return {
    report:
      writeJson({ type: "custom_http_response", status: thrown.status, headers: Object.fromEntries(headers) }) ??
      UNREADABLE,
    body: writeJson(thrown.body) ?? "null",
  };
}

/** An object is not spread over fields here: only the published classes do that. */
function otherTexts(thrown: unknown) {
  return errorTexts(thrown instanceof Error || typeof thrown !== "object" ? thrown : [thrown]);
}
