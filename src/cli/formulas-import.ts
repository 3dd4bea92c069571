import { readFile } from "node:fs/promises";
import type { Message } from "@bufbuild/protobuf";
import {
  type CreateReactorFormulaRequest,
  CreateReactorFormulaRequestSchema,
} from "../../gen/cloakroom/v1/reactors_pb.js";
import { compileValidation } from "../api/pipeline/validation.js";
import { compileJsonReader } from "../api/rest/json-reader.js";
import { recordVaultEvent } from "../audit/chain/vault-log.js";
import { systemClock } from "../base/clock.js";
import { Fault } from "../base/fault.js";
import { isJsonObject, type Json } from "../base/json.js";
import { writeFormula } from "../reactors/formula.js";
import { createSandbox, type Sandbox } from "../sandbox/sandbox.js";
import { readFormulaDraft } from "../services/reactor-formulas.js";
import { storedUuid } from "../services/show.js";
import { type OfficialFormula, writeOfficialFormulas } from "../store/functions/reactor-formulas.js";
import { soleConnection } from "../store/postgres/connect.js";
import { openForCommand } from "./open-for-command.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { operatorName } from "./operator-name.js";
import { UsageError } from "./usage-error.js";

export async function formulasImport({ config, options, say, printResult }: CommandInput): Promise<void> {
  const documents = await readDocuments(requiredText(options, "file"));
  const formulas = await checkAll(documents);
  await using vault = await openForCommand({ config, say });
  await using owner = soleConnection(vault.ownerAddress);
  await writeOfficialFormulas(owner, formulas, new Date(systemClock.now()));
  for (const { id } of formulas) {
    const event = { entityType: "reactor_formula", entityId: id, operation: "create" } as const;
    await recordVaultEvent(vault, { ...event, remark: `official, ${operatorName()}` });
  }
  printResult(formulas.map(({ id, name }) => ({ id, name })));
}

async function readDocuments(path: string): Promise<readonly Json[]> {
  const text = await readFile(path, "utf8").catch(() => {
    throw new UsageError(`--file ${path} cannot be read.`);
  });
  try {
    const parsed: Json = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [parsed];
  } catch {
    throw new UsageError(`--file ${path} is not JSON.`);
  }
}

async function checkAll(documents: readonly Json[]): Promise<OfficialFormula[]> {
  const sandbox = createSandbox({ threads: 1 });
  try {
    const formulas: OfficialFormula[] = [];
    for (const [index, document] of documents.entries()) {
      formulas.push(await check(sandbox, document).catch((error: unknown) => Promise.reject(inFile(error, index))));
    }
    return formulas;
  } finally {
    await sandbox.close();
  }
}

const readRequest = compileJsonReader(CreateReactorFormulaRequestSchema);
const validate = compileValidation(CreateReactorFormulaRequestSchema);

/** Applies the rules for a tenant's own formula. */
async function check(sandbox: Sandbox, document: Json): Promise<OfficialFormula> {
  const { status = "verified", ...rest } = isJsonObject(document) ? document : {};
  if (status !== "verified" && status !== "coming_soon")
    throw new UsageError("status must be verified or coming_soon.");
  const request: Message = readRequest({ ...rest, type: "official" });
  if (!isCreateRequest(request)) throw new Error("the reader returned another message");
  validate(request);
  if (request.id === undefined) throw new UsageError("id must be given.");
  const draft = await readFormulaDraft((code) => sandbox.compile("operator", code), request);
  return { id: storedUuid(request.id), name: request.name, definition: { ...writeFormula(draft), status } };
}

function isCreateRequest(message: Message): message is CreateReactorFormulaRequest {
  return message.$typeName === CreateReactorFormulaRequestSchema.typeName;
}

function inFile(error: unknown, index: number): unknown {
  if (error instanceof UsageError) return new UsageError(`Formula ${index + 1}: ${error.message}`);
  if (!(error instanceof Fault)) return error;
  const fields = Object.entries(error.fields ?? {}).map(([field, texts]) => `${field} ${texts.join(", ")}`);
  return new UsageError(`Formula ${index + 1}: ${fields.length > 0 ? fields.join("; ") : error.message}`);
}
