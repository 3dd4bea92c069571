import { invalid } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import { requireNamedDestination } from "../egress/destination.js";
import type { EgressPolicy } from "../egress/egress-policy.js";
import { type CompileCode, requireCompiling } from "../functions/code.js";
import { mergeConfiguration } from "../functions/configuration.js";
import type { ProxyDefinition } from "./proxy.js";
import { parseTransform, type Transform, type TransformDraft } from "./transform.js";

/** A proxy from a caller, unparsed. */
export interface ProxyDraft {
  readonly destinationUrl: string;
  readonly requestReactorId: Uuid | undefined;
  readonly responseReactorId: Uuid | undefined;
  readonly requestTransform: TransformDraft | undefined;
  readonly responseTransform: TransformDraft | undefined;
  readonly requestTransforms: readonly TransformDraft[];
  readonly responseTransforms: readonly TransformDraft[];
  readonly configuration: Readonly<Record<string, string>>;
  readonly disableDetokenization: boolean;
}

/** A caller's patch. A null field is cleared; an absent one stays. */
export interface ProxyDefinitionPatch {
  readonly destinationUrl?: string | null;
  readonly requestReactorId?: Uuid | null;
  readonly responseReactorId?: Uuid | null;
  readonly requestTransform?: TransformDraft | null;
  readonly responseTransform?: TransformDraft | null;
  readonly requestTransforms?: readonly TransformDraft[] | null;
  readonly responseTransforms?: readonly TransformDraft[] | null;
  readonly configuration?: Json;
  readonly disableDetokenization?: boolean;
}

export interface ProxyChecks {
  readonly policy: EgressPolicy;
  readonly compile: CompileCode;
}

/**
 * Checks a proxy before it is saved: its destination, its transforms, and that their code compiles.
 * @throws {Fault} validation_failed naming fields; unprocessable with line and column for code.
 */
export async function checkProxy(checks: ProxyChecks, draft: ProxyDraft): Promise<ProxyDefinition> {
  const { destinationUrl, requestTransform, responseTransform, requestReactorId, responseReactorId } = draft;
  requireNamedDestination("destination_url", destinationUrl, checks.policy);
  const definition: ProxyDefinition = {
    ...{ destinationUrl, requestReactorId, responseReactorId },
    requestTransform: requestTransform && parseTransform(requestTransform, "request_transform", false),
    responseTransform: responseTransform && parseTransform(responseTransform, "response_transform", true),
    requestTransforms: parseAll(draft.requestTransforms, "request_transforms", false),
    responseTransforms: parseAll(draft.responseTransforms, "response_transforms", true),
    configuration: draft.configuration,
    disableDetokenization: draft.disableDetokenization,
  };
  await compileAll(checks, definition);
  return definition;
}

/** Checks the fields of a patch; other fields were checked before. */
export async function checkPatch(
  checks: ProxyChecks,
  patch: ProxyDefinitionPatch,
): Promise<(current: ProxyDefinition) => ProxyDefinition> {
  const { destinationUrl, requestTransform, responseTransform, requestTransforms, responseTransforms } = patch;
  if (destinationUrl === null) throw invalid("destination_url", "must not be cleared");
  if (destinationUrl !== undefined) requireNamedDestination("destination_url", destinationUrl, checks.policy);
  const { requestReactorId, responseReactorId, disableDetokenization } = patch;
  const changed = {
    ...(destinationUrl === undefined ? {} : { destinationUrl }),
    ...(requestReactorId === undefined ? {} : { requestReactorId: requestReactorId ?? undefined }),
    ...(responseReactorId === undefined ? {} : { responseReactorId: responseReactorId ?? undefined }),
    ...(disableDetokenization === undefined ? {} : { disableDetokenization }),
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
    if (transform?.type === "code") await requireCompiling(compile, `${field}.code`, transform.code);
  }
}
