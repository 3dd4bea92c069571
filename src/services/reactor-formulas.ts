import {
  type CreateReactorFormulaRequest,
  type ReactorFormulaConfiguration,
  ReactorFormulaService,
  type ReplaceReactorFormulaRequest,
} from "../../gen/cloakroom/v1/reactors_pb.js";
import { type CompileCode, type CompileFor, requireCompiling } from "../functions/code.js";
import {
  checkIcon,
  createFormula,
  deleteFormula,
  deniedOfficial,
  type Formula,
  type FormulaDraft,
  formulas,
  updateFormula,
} from "../reactors/formula.js";
import { type ConfigurationEntry, checkContract, type ValueType } from "../reactors/formula-contract.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { replayWhole } from "./replay.js";
import { serveById } from "./serve-by-id.js";
import { pageRequest, showAudit, showItems, storedUuid } from "./show.js";

export function reactorFormulaService({ compileFor }: { readonly compileFor: CompileFor }): ServedMethod[] {
  const { method } = ReactorFormulaService;
  return [
    serve(
      method.createReactorFormula,
      async (request, call) => {
        const wantedId = request.id === undefined ? undefined : storedUuid(request.id);
        if (request.type !== "private") {
          return call.transact(async () => {
            throw deniedOfficial(call.caller, wantedId);
          }, showFormula);
        }
        const draft = await readFormulaDraft(compileFor(call.caller.tenantId), request);
        return call.transact((tx) => createFormula(tx, draft, wantedId), showFormula);
      },
      { replay: replayWhole("reactor_formula") },
    ),
    serve(method.listReactorFormulas, async (request, call) => {
      const page = pageRequest(request);
      return call.list(
        (tx) => formulas.list(tx, { ...page, ids: [], name: request.name }),
        showItems(page, showFormula),
      );
    }),
    serveById(method.getReactorFormula, (tx, id) => formulas.get(tx, id), showFormula),
    serve(
      method.replaceReactorFormula,
      async (request, call) => {
        const id = storedUuid(request.id);
        if (request.type !== "private") {
          return call.transact(async () => {
            throw deniedOfficial(call.caller, id);
          }, showFormula);
        }
        const draft = await readFormulaDraft(compileFor(call.caller.tenantId), request);
        return call.transact((tx) => updateFormula(tx, id, draft), showFormula);
      },
      { replay: replayWhole("reactor_formula") },
    ),
    serveById(method.deleteReactorFormula, deleteFormula, showNothing),
  ];
}

/** @throws {Fault} for duplicate names, a wrong icon, or code that does not compile. */
export async function readFormulaDraft(
  compile: CompileCode,
  request: CreateReactorFormulaRequest | ReplaceReactorFormulaRequest,
): Promise<FormulaDraft> {
  const { name, description, icon, code } = request;
  const configuration = request.configuration.map(entryOf);
  const requestParameters = request.requestParameters.map((parameter) => ({
    ...entryOf(parameter),
    optional: parameter.optional,
  }));
  checkIcon(icon);
  checkContract({ configuration, requestParameters });
  await requireCompiling(compile, "code", code);
  return { name, description, icon, code, configuration, requestParameters };
}

function entryOf({
  name,
  description,
  type,
}: Pick<ReactorFormulaConfiguration, "name" | "description" | "type">): ConfigurationEntry {
  return { name, description, type: valueTypeOf(type) };
}

function valueTypeOf(checked: string): ValueType {
  if (checked === "string" || checked === "boolean" || checked === "number") return checked;
  throw new Error("a message with an unknown type passed validation");
}

export function showFormula(formula: Formula) {
  const { id, name, type, status, description, icon, code, configuration, requestParameters } = formula;
  return {
    id,
    name,
    type,
    status,
    code,
    ...(description === undefined ? {} : { description }),
    ...(icon === undefined ? {} : { icon }),
    configuration: configuration.map(showEntry),
    requestParameters: requestParameters.map((parameter) => ({
      ...showEntry(parameter),
      optional: parameter.optional,
    })),
    ...showAudit(formula),
  };
}

function showEntry({ name, description, type }: ConfigurationEntry) {
  return { name, type, ...(description === undefined ? {} : { description }) };
}
