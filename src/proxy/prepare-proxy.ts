import { Fault, invalid, invalidFields } from "../base/fault.js";
import { isJsonObject, type Json } from "../base/json.js";
import { mergePatch } from "../base/merge-patch.js";
import { validDestination } from "../egress/destination.js";
import type { EgressPolicy } from "../egress/egress-policy.js";
import type { ProxyDefinition } from "./proxy.js";
import { parseTransform, type Transform, type TransformDraft } from "./transform.js";

/** A proxy as a caller wrote it. */
export interface ProxyDraft {
  readonly destinationUrl: string;
  readonly requestTransform: TransformDraft | undefined;
  readonly responseTransform: TransformDraft | undefined;
  readonly requestTransforms: readonly TransformDraft[];
  readonly responseTransforms: readonly TransformDraft[];
  readonly configuration: Readonly<Record<string, string>>;
}

/** A patch as a caller sent it. A field that is there and null is cleared; one that is absent stays. */
export interface ProxyDefinitionPatch {
  readonly destinationUrl?: string | null;
  readonly requestTransform?: TransformDraft | null;
  readonly responseTransform?: TransformDraft | null;
  readonly requestTransforms?: readonly TransformDraft[] | null;
  readonly responseTransforms?: readonly TransformDraft[] | null;
  readonly configuration?: Json;
}

/** What code that does not compile is refused with. */
export interface CompileProblem {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

export interface ProxyChecks {
  readonly policy: EgressPolicy;
  compile(code: string): Promise<CompileProblem | undefined>;
}

/**
 * Checks a proxy before it is saved: where it goes, what its transforms say, and that their code compiles.
 * @throws {Fault} validation_failed naming fields; unprocessable with line and column for code.
 */
export async function checkProxy(checks: ProxyChecks, draft: ProxyDraft): Promise<ProxyDefinition> {
  const { requestTransform, responseTransform } = draft;
  const definition: ProxyDefinition = {
    destinationUrl: checkDestination(checks.policy, draft.destinationUrl),
    requestTransform: requestTransform && parseTransform(requestTransform, "request_transform", false),
    responseTransform: responseTransform && parseTransform(responseTransform, "response_transform", true),
    requestTransforms: parseAll(draft.requestTransforms, "request_transforms", false),
    responseTransforms: parseAll(draft.responseTransforms, "response_transforms", true),
    configuration: draft.configuration,
  };
  await compileAll(checks, definition);
  return definition;
}

/** The same for a patch: what it names is checked, what it leaves alone was. */
export async function checkPatch(
  checks: ProxyChecks,
  patch: ProxyDefinitionPatch,
): Promise<(current: ProxyDefinition) => ProxyDefinition> {
  const { destinationUrl, requestTransform, responseTransform, requestTransforms, responseTransforms } = patch;
  if (destinationUrl === null) throw invalid("destination_url", "must not be cleared");
  const changed = {
    ...(destinationUrl === undefined ? {} : { destinationUrl: checkDestination(checks.policy, destinationUrl) }),
    ...(requestTransform === undefined
      ? {}
      : {
          requestTransform: requestTransform ? parseTransform(requestTransform, "request_transform", false) : undefined,
        }),
    ...(responseTransform === undefined
      ? {}
      : {
          responseTransform: responseTransform
            ? parseTransform(responseTransform, "response_transform", true)
            : undefined,
        }),
    ...(requestTransforms === undefined
      ? {}
      : { requestTransforms: parseAll(requestTransforms ?? [], "request_transforms", false) }),
    ...(responseTransforms === undefined
      ? {}
      : { responseTransforms: parseAll(responseTransforms ?? [], "response_transforms", true) }),
  };
  await compileAll(checks, changed);
  return (current) => ({
    ...current,
    ...changed,
    configuration:
      patch.configuration === undefined
        ? current.configuration
        : mergeConfiguration(current.configuration, patch.configuration),
  });
}

/** RFC 7386 on a map of texts: null deletes an entry, null as a whole deletes all. */
export function mergeConfiguration(current: Readonly<Record<string, string>>, patch: Json): Record<string, string> {
  if (patch === null) return {};
  if (!isJsonObject(patch)) throw invalid("configuration", "must be an object of texts");
  const faults: Record<string, string[]> = {};
  const merged: Record<string, string> = {};
  const patched = mergePatch({ ...current }, patch);
  for (const [name, value] of Object.entries(isJsonObject(patched) ? patched : {})) {
    if (typeof value === "string") merged[name] = value;
    else faults[`configuration.${name}`] = ["must be a string"];
  }
  if (Object.keys(faults).length > 0) throw invalidFields(faults);
  return merged;
}

/** An address would not be covered by a certificate that means the name, and names are what operators can allow. */
export function checkDestination(policy: EgressPolicy, url: string, field = "destination_url"): string {
  const destination = validDestination(field, url, policy);
  if (destination.isAddress && policy.judge(destination, destination.host).reason !== "operator_allowed") {
    throw invalid(field, "must name a host, not an address");
  }
  return url.replace(/\/+$/, "");
}

function parseAll(drafts: readonly TransformDraft[], field: string, isResponse: boolean): Transform[] {
  return drafts.map((draft, index) => parseTransform(draft, `${field}[${index}]`, isResponse));
}

async function compileAll({ compile }: ProxyChecks, definition: Partial<ProxyDefinition>): Promise<void> {
  const single = [
    ["request_transform", definition.requestTransform],
    ["response_transform", definition.responseTransform],
  ] as const;
  const listed = [
    ...(definition.requestTransforms ?? []).map(
      (transform, index) => [`request_transforms[${index}]`, transform] as const,
    ),
    ...(definition.responseTransforms ?? []).map(
      (transform, index) => [`response_transforms[${index}]`, transform] as const,
    ),
  ];
  for (const [field, transform] of [...single, ...listed]) {
    if (transform?.type !== "code") continue;
    const problem = await compile(transform.code);
    if (problem) throw doesNotCompile(`${field}.code`, problem);
  }
}

/** Code is refused where it is saved, with the place of the first mistake. */
export function doesNotCompile(field: string, { message, line, column }: CompileProblem): Fault {
  const text = `does not compile: ${message} (line ${line}, column ${column})`;
  return new Fault("unprocessable", `The code ${text}.`, { fields: { [field]: [text] } });
}
