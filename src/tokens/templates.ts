import type { TokenTemplate } from "../access/pages.js";
import { Fault, invalid, withFurtherFaults } from "../base/fault.js";
import { FieldFaultList } from "../base/field-fault-list.js";
import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import { unknownFieldFaults } from "../base/unknown-fields.js";
import { Budget } from "../expressions/budget.js";
import { isTemplate, templateProblem } from "../expressions/expression.js";
import { LONGEST, readDraftText, readFlag, readTexts, SEARCH_INDEXES } from "./draft.js";
import { requireEvaluable } from "./mask.js";
import { atPlace } from "./prepare.js";

const MAX_TEMPLATES = 20;
const MAX_NAME = 50;
const NAME = /^[a-z0-9_-]{1,50}$/;

const FIELDS = ["name", "mask", "search_indexes", "fingerprint_expression", "id", "deduplicate_token"];

/**
 * Reads the templates of an application from JSON. Null means absent.
 * @throws {Fault} validation_failed naming every wrong field: `templates[0].mask.number`.
 */
export function readTemplates(json: Json): readonly TokenTemplate[] {
  if (!Array.isArray(json) || json.length > MAX_TEMPLATES) {
    throw invalid("templates", `must be a list of at most ${MAX_TEMPLATES} templates`);
  }
  return parseTemplates(json.map((item, index) => atPlace(`templates[${index}]`, () => readTemplate(item))));
}

/**
 * Checks templates, whose expressions must be ones that can be evaluated.
 * @throws {Fault} as {@link readTemplates}.
 */
export function parseTemplates(templates: readonly TokenTemplate[]): readonly TokenTemplate[] {
  const budget = new Budget();
  const names = templates.map(({ name }) => name);
  const checks = templates.flatMap((template, index) =>
    checksOf(template, names.indexOf(template.name) < index, budget).map(
      (check) => () => atPlace(`templates[${index}]`, check),
    ),
  );
  for (const [index, check] of checks.entries()) {
    try {
      check();
    } catch (error) {
      throw error instanceof Fault ? withFurtherFaults(error, checks.slice(index + 1)) : error;
    }
  }
  return templates;
}

function readTemplate(given: Json): TokenTemplate {
  if (!isJsonObject(given)) throw invalid("name", "must be given: a template is an object with a name");
  const json = withRestNames(given);
  const faults = new FieldFaultList();
  const report = (field: string, text: string) => faults.add(field, text);
  const { mask } = json;
  const name = readDraftText(json.name, "name", MAX_NAME, report);
  const searchIndexes = readTexts(json.search_indexes, "search_indexes", SEARCH_INDEXES, report);
  const expression = json.fingerprint_expression;
  const fingerprintExpression = readDraftText(
    expression,
    "fingerprint_expression",
    LONGEST.fingerprintExpression,
    report,
  );
  const id = readDraftText(json.id, "id", LONGEST.expression, report);
  const deduplicate = readFlag(json.deduplicate_token, "deduplicate_token", report);
  for (const [field, text] of unknownFieldFaults(json, { known: FIELDS, unserved: new Map() })) report(field, text);
  faults.throwIfAny();
  return {
    name: name ?? "",
    ...(mask === undefined || mask === null ? {} : { mask }),
    ...(searchIndexes && searchIndexes.length > 0 ? { searchIndexes } : {}),
    ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
    ...(id === undefined ? {} : { id }),
    ...(deduplicate === undefined ? {} : { deduplicate }),
  };
}

/** Clients of the RPCs get templates in messages, whose names are camelCase, and send them back as they got them. */
const REST_NAMES = new Map([
  ["searchIndexes", "search_indexes"],
  ["fingerprintExpression", "fingerprint_expression"],
  ["deduplicateToken", "deduplicate_token"],
]);

function withRestNames(given: JsonObject): JsonObject {
  const json: JsonObject = {};
  for (const [name, value] of Object.entries(given)) {
    const restName = REST_NAMES.get(name);
    setOwnProperty(json, restName !== undefined && !Object.hasOwn(given, restName) ? restName : name, value);
  }
  return json;
}

function checksOf(template: TokenTemplate, isRepeated: boolean, budget: Budget): readonly (() => void)[] {
  const { name, mask, searchIndexes = [], fingerprintExpression, id } = template;
  return [
    () => {
      if (!NAME.test(name)) throw invalid("name", "must be 1 to 50 of the characters a-z, 0-9, _ and -");
      if (isRepeated) throw invalid("name", "must be unique within the application");
    },
    () => mask !== undefined && requireEvaluable(mask, budget),
    ...searchIndexes.map((text, index) => () => requireReadable(text, `search_indexes[${index}]`, budget)),
    () => requireReadable(fingerprintExpression, "fingerprint_expression", budget),
    () => {
      requireReadable(id, "id", budget);
      if (id === undefined || isTemplate(id)) return;
      throw invalid("id", "must have an expression, such as {{ data.number | alias_preserve_length: 6, 4 }}");
    },
  ];
}

function requireReadable(text: string | undefined, field: string, budget: Budget): void {
  const problem = text !== undefined && isTemplate(text) ? templateProblem(text, budget) : undefined;
  if (problem) throw invalid(field, `${problem.reason} (character ${problem.character})`);
}
