import { invalid } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import { requireNamedDestination } from "../egress/destination.js";
import type { EgressPolicy } from "../egress/egress-policy.js";
import { type CompileCode, requireCompiling } from "../functions/code.js";
import { mergeConfiguration } from "../functions/configuration.js";
import { type NamedStep, requireUsableSteps } from "./check-steps.js";
import type { ProxyDefinition } from "./proxy.js";
import { parseTransform, type Step, type TransformDraft } from "./transform.js";

export interface ProxyDraft
  extends Pick<
    ProxyDefinition,
    "destinationUrl" | "requestReactorId" | "responseReactorId" | "configuration" | "disableDetokenization"
  > {
  readonly requestTransform: TransformDraft | undefined;
  readonly responseTransform: TransformDraft | undefined;
  readonly requestTransforms: readonly TransformDraft[];
  readonly responseTransforms: readonly TransformDraft[];
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
    destinationUrl,
    requestReactorId,
    responseReactorId,
    requestTransform: requestTransform && parseTransform(requestTransform, "request_transform", false),
    responseTransform: responseTransform && parseTransform(responseTransform, "response_transform", true),
    requestTransforms: parseAll(draft.requestTransforms, "request_transforms", false),
    responseTransforms: parseAll(draft.responseTransforms, "response_transforms", true),
    configuration: draft.configuration,
    disableDetokenization: draft.disableDetokenization,
  };
  requireUsableTransforms(definition);
  await compileAll(checks, definition);
  return definition;
}

/** @throws {Fault} validation_failed naming the expressions, locations and headers of steps that fail in every call. */
function requireUsableTransforms(definition: StepsOfProxy): void {
  requireUsableSteps(namedSteps("request_transform", definition.requestTransform, definition.requestTransforms), false);
  requireUsableSteps(
    namedSteps("response_transform", definition.responseTransform, definition.responseTransforms),
    true,
  );
}

type StepsOfProxy = Pick<
  ProxyDefinition,
  "requestTransform" | "responseTransform" | "requestTransforms" | "responseTransforms"
>;

function namedSteps(field: string, single: Step | undefined, list: readonly Step[]): NamedStep[] {
  const listed = list.map((step, index) => [`${field}s[${index}]`, step] as const);
  return single ? [[field, single], ...listed] : listed;
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
  return (current) => {
    const patched = { ...current, ...changed };
    // Together with the transforms that stay: a step may use the result of one of them.
    if (changesTransforms(patch)) requireUsableTransforms(patched);
    const { configuration } = patch;
    if (configuration === undefined) return patched;
    return { ...patched, configuration: mergeConfiguration(current.configuration, configuration) };
  };
}

function changesTransforms(patch: ProxyDefinitionPatch): boolean {
  const { requestTransform, responseTransform, requestTransforms, responseTransforms } = patch;
  return [requestTransform, responseTransform, requestTransforms, responseTransforms].some(
    (changed) => changed !== undefined,
  );
}

function parseAll(drafts: readonly TransformDraft[], field: string, isResponse: boolean): Step[] {
  return drafts.map((draft, index) => parseTransform(draft, `${field}[${index}]`, isResponse));
}

async function compileAll({ compile }: ProxyChecks, definition: Partial<ProxyDefinition>): Promise<void> {
  const { requestTransform, responseTransform, requestTransforms = [], responseTransforms = [] } = definition;
  const steps = [
    ...namedSteps("request_transform", requestTransform, requestTransforms),
    ...namedSteps("response_transform", responseTransform, responseTransforms),
  ];
  for (const [field, step] of steps) {
    if (step.type === "code") await requireCompiling(compile, `${field}.code`, step.code);
  }
}
