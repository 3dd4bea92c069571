import { isDeepStrictEqual } from "node:util";
import {
  type CreateReactorRequest,
  ReactorService,
  type ReplaceReactorRequest,
  type Runtime as RuntimeMessage,
  type UpdateReactorRequest,
  UpdateReactorRequestSchema,
} from "../../gen/cloakroom/v1/reactors_pb.js";
import { holdForCode } from "../access/applications.js";
import type { Caller } from "../access/caller.js";
import type { OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { invalid } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { type CompileCode, type CompileFor, requireCompiling } from "../functions/code.js";
import { mergeConfiguration } from "../functions/configuration.js";
import { parseRuntime, type Runtime } from "../functions/runtime.js";
import { requireNoProxyEnds } from "../proxy/ended-uses.js";
import { requireNoProxyGains, requireNoProxyReads } from "../proxy/gained-power.js";
import { requireMayChangeUses } from "../proxy/reactor-uses.js";
import {
  chooseCode,
  createReactor,
  deleteReactor,
  lacksCode,
  type Reactor,
  type ReactorCode,
  type ReactorProperties,
  reactors,
  type ShownReactor,
  updateReactor,
} from "../reactors/reactor.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { showFormula } from "./reactor-formulas.js";
import { replayWhole } from "./replay.js";
import { serveById } from "./serve-by-id.js";
import { pageRequest, showAudit, showItems, storedUuid } from "./show.js";
import { shownConfiguration } from "./shown-to-people.js";
import { fieldsToChange } from "./update-mask.js";
import { toJson } from "./value.js";

export interface ReactorServiceParts {
  readonly compileFor: CompileFor;
}

export function reactorService(parts: ReactorServiceParts): ServedMethod[] {
  return [...reactorReads(), ...reactorChanges(parts)];
}

function reactorReads(): ServedMethod[] {
  const { method } = ReactorService;
  return [
    serve(method.listReactors, async (request, call) => {
      const page = pageRequest(request);
      const listing = { ...page, ids: request.id.map(storedUuid), name: request.name };
      return call.list((tx) => reactors.list(tx, listing), showItems(page, show));
    }),
    serveById(method.getReactor, (tx, id) => reactors.get(tx, id), show),
  ];
}

function reactorChanges({ compileFor }: ReactorServiceParts): ServedMethod[] {
  const { method } = ReactorService;
  return [
    serve(
      method.createReactor,
      async (request, call) => {
        const { code, ...others } = await readProperties(compileFor(call.caller.tenantId), request);
        if (!code) throw lacksCode();
        const properties = { ...others, code };
        return call.transact((tx) => createReactor(tx, properties), show);
      },
      { replay: replayWhole("reactor") },
    ),
    serve(
      method.replaceReactor,
      async (request, call) => {
        const { code, ...others } = await readProperties(compileFor(call.caller.tenantId), request);
        const replace = (current: Reactor) => ({ ...others, code: code ?? keptFormula(current) });
        return call.transact((tx) => changeReactor(tx, storedUuid(request.id), replace), show);
      },
      { replay: replayWhole("reactor") },
    ),
    serve(
      method.updateReactor,
      async (request, call) => {
        const patch = await readPatch(compileFor(call.caller.tenantId), request);
        return call.transact((tx) => changeReactor(tx, storedUuid(request.id), patch), showNothing);
      },
      { replay: replayWhole("reactor") },
    ),
    serveById(method.deleteReactor, endReactor, showNothing),
  ];
}

async function readProperties(
  compile: CompileCode,
  { name, code: given, formula, application, configuration, runtime }: CreateReactorRequest | ReplaceReactorRequest,
): Promise<Omit<ReactorProperties, "code"> & { readonly code: ReactorCode | undefined }> {
  const code = chooseCode(given, formula && storedUuid(formula.id));
  if (code?.kind === "code") await requireCompiling(compile, "code", code.code);
  return {
    name,
    code,
    configuration,
    applicationId: application && storedUuid(application.id),
    runtime: runtime && readRuntime(runtime),
  };
}

/** Clients of 2023 replace a reactor without its formula, which they cannot change. */
function keptFormula({ code }: Reactor): ReactorCode {
  if (code.kind !== "formula") throw lacksCode();
  return code;
}

function readRuntime(message: RuntimeMessage): Runtime {
  const { image = null, timeout = null, warmConcurrency = null, resources = null, async: isAsync = null } = message;
  const { dependencies, resolutions, permissions } = message;
  const given = { image, timeout, warm_concurrency: warmConcurrency, resources, async: isAsync };
  return parseRuntime({ ...given, dependencies, resolutions, permissions }, "runtime");
}

/** Clears a field that is named in the mask but not set. Code replaces a formula, and a formula replaces code. */
async function readPatch(
  compile: CompileCode,
  request: UpdateReactorRequest,
): Promise<(current: Reactor) => ReactorProperties> {
  const named = fieldsToChange(UpdateReactorRequestSchema, request.updateMask);
  const { name, application } = request;
  if (named.has("name") && name === undefined) throw invalid("name", "must not be cleared");
  const code = givenCode(request, named);
  if (code?.kind === "code") await requireCompiling(compile, "code", code.code);
  const configuration = request.configuration ? toJson(request.configuration, "configuration") : null;
  const runtime = request.runtime && readRuntime(request.runtime);
  return (current) => ({
    name: named.has("name") ? (name ?? current.name) : current.name,
    code: code ?? keptCode(current.code, named),
    applicationId: named.has("application") ? application && storedUuid(application.id) : current.applicationId,
    configuration: named.has("configuration")
      ? mergeConfiguration(current.configuration, configuration)
      : current.configuration,
    runtime: named.has("runtime") ? runtime : current.runtime,
  });
}

function givenCode(request: UpdateReactorRequest, named: ReadonlySet<string>): ReactorCode | undefined {
  const code = named.has("code") ? request.code : undefined;
  const formula = named.has("formula") ? request.formula : undefined;
  return code || formula ? chooseCode(code, formula && storedUuid(formula.id)) : undefined;
}

function keptCode(current: ReactorCode, cleared: ReadonlySet<string>): ReactorCode {
  if (cleared.has(current.kind)) throw invalid(current.kind, "must not be cleared: a reactor needs code or a formula");
  return current;
}

function show(reactor: ShownReactor, caller: Caller) {
  const { id, name, code, formula, applicationId, configuration, runtime } = reactor;
  return {
    id,
    tenantId: caller.tenantId,
    name,
    state: "active",
    ...(code.kind === "code" ? { code: code.code } : { formula: { id: code.formulaId } }),
    ...(formula ? { formulaDetails: showFormula(formula) } : {}),
    ...(applicationId === undefined ? {} : { application: { id: applicationId } }),
    configuration: shownConfiguration(caller, configuration),
    ...(runtime ? { runtime: showRuntime(runtime) } : {}),
    ...showAudit(reactor),
  };
}

function showRuntime({ warm_concurrency: warmConcurrency, ...others }: Runtime) {
  return { ...others, ...(warmConcurrency === undefined ? {} : { warmConcurrency }) };
}

/** Changes a reactor, for a caller who may change the proxies that run it as well. */
async function changeReactor(
  tx: OrdinaryCallerTransaction,
  id: Uuid,
  change: (current: Reactor) => ReactorProperties,
): Promise<ShownReactor> {
  let former: Pick<Reactor, "applicationId" | "configuration"> | undefined;
  const changed = await updateReactor(tx, id, (current) => {
    former = current;
    return change(current);
  });
  await requireMayChangeUses(tx, id);
  const { applicationId, configuration } = changed;
  const isConfigured = Object.keys(configuration).length > 0;
  if (isConfigured && !isDeepStrictEqual(configuration, former?.configuration)) await requireNoProxyReads(tx, changed);
  if (applicationId === undefined || applicationId === former?.applicationId) return changed;
  const { type, permissions, rules } = await holdForCode(tx, applicationId);
  await requireNoProxyGains(tx, id, { applicationId, type, rights: { permissions, rules } });
  return changed;
}

async function endReactor(tx: OrdinaryCallerTransaction, id: Uuid): Promise<void> {
  await deleteReactor(tx, id);
  await requireNoProxyEnds(tx, id);
}
