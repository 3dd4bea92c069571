import { create, type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import { type ReflectList, type ReflectMap, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { createValidator, type Violation } from "@bufbuild/protovalidate";
import { message as messageRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { rest } from "../../../gen/cloakroom/v1/options_pb.js";
import { processorTurns } from "../../base/caller-turns.js";
import { FieldFaultList } from "../../base/field-fault-list.js";
import type { ProcessorTurns } from "../../base/processor-turns.js";
import {
  fieldMaxEntries,
  fieldTextSizes,
  isFarTooLong,
  type TextSizes,
  tooLongText,
  tooManyEntries,
} from "../messages/field-sizes.js";

export type Validate = (message: Message) => void;

const validator = createValidator();

/** Before {@link compileRulesLater} begins, in milliseconds: a start's other work and its first requests come earlier. */
const START_MS = 5_000;
/** Between its compilations, in milliseconds: those of 130 methods end 13 s later. */
const PAUSE_MS = 100;

/**
 * Compiles the rules of messages one by one, each of which takes up to 46 ms, and all of them a fifth of a start's
 * processor time. The first request with a message compiles its rules if it comes earlier. Compiles nothing while
 * callers wait for turns.
 */
export function compileRulesLater(
  messages: Pick<readonly DescMessage[], "values">,
  stopping: AbortSignal,
  turns: Pick<ProcessorTurns, "waiting"> = processorTurns,
): void {
  const waiting = messages.values();
  const compileNext = () => {
    if (turns.waiting === 0) {
      const { value: desc } = waiting.next();
      if (desc === undefined) return;
      validator.validate(desc, create(desc));
    }
    wait(PAUSE_MS);
  };
  let timer: NodeJS.Timeout | undefined;
  const wait = (ms: number) => {
    timer = setTimeout(compileNext, ms).unref();
  };
  wait(START_MS);
  stopping.addEventListener("abort", () => clearTimeout(timer), { once: true });
}

/**
 * Built once per method.
 * @throws {Fault} from the check: validation_failed, naming every field.
 */
export function compileValidation(desc: DescMessage): Validate {
  const checkAlternatives = compileAlternatives(desc);
  return (message) => {
    const faults = new FieldFaultList();
    const reflected = reflect(desc, message);
    const isOversized = !checkFields(reflected, "", faults);
    // The validator checks every entry, for 4 us each, even of a list that has too many, and every character.
    if (isOversized) faults.throwIfAny();
    const result = validator.validate(desc, message);
    if (result.kind === "error") throw result.error;
    if (result.kind === "invalid") for (const violation of result.violations) addViolation(violation, faults);
    checkAlternatives(reflected, faults);
    faults.throwIfAny();
  };
}

/**
 * Checks the message's own rules of `oneof`, of which the validator's violations name no field. Without any of its
 * fields the first is at fault; with several, all but the first.
 */
function compileAlternatives(desc: DescMessage): (message: ReflectMessage, faults: FieldFaultList) => void {
  const named = (name: string): DescField[] => desc.fields.filter((field) => field.name === name);
  const rules = getOption(desc, messageRules).oneof.map(({ fields, required }) => ({
    fields: fields.flatMap(named),
    required,
  }));
  return (message, faults) => {
    for (const { fields, required } of rules) {
      const [first, ...others] = fields.filter((field) => message.isSet(field));
      if (!first && required) for (const { name } of fields.slice(0, 1)) faults.add(name, "must be given");
      for (const { name } of others) faults.add(name, `must not be given together with ${first?.name}`);
    }
  };
}

function addViolation(violation: Violation, faults: FieldFaultList): void {
  if (violation.ruleId === "message.oneof" && violation.field.length === 0) return;
  faults.add(fieldNameOf(violation), violationText(violation));
}

/** The validator's own texts, in our form: they follow a field's name. */
function violationText({ ruleId, message, field }: Violation): string {
  if (ruleId === "required") return "must be given";
  if (ruleId === "string.pattern") {
    const matched = field.findLast((step) => step.kind === "field");
    const expected = matched && getOption(matched, rest).expected;
    if (expected) return expected;
  }
  const list = /^must be in list \[(.*)\]$/.exec(message)?.[1];
  if (list !== undefined) return `must be one of: ${list}`;
  return message.replace(/\bcontain (at least|at most) (\d+) item\(s\)$/, "have $1 $2 entries").replace(/^value /, "");
}

/** `rules[0].container`, `metadata.key`: as the caller sent it. */
function fieldNameOf({ field }: Violation): string {
  let place = "";
  for (const step of field) {
    if (step.kind === "field") place += place ? `.${step.name}` : step.name;
    else if (step.kind === "list_sub") place += `[${step.index}]`;
    else if (step.kind === "map_sub") place += `.${step.key}`;
    else if (step.kind === "oneof") place += place ? `.${step.name}` : step.name;
  }
  return place || "body";
}

/**
 * Checks sizes and texts before the rules: the size limits of lists, maps and texts, and that names, ids and other plain
 * texts can be stored as text, which has neither NUL nor half a surrogate pair.
 * @returns whether all are about within their limits.
 */
function checkFields(message: ReflectMessage, place: string, faults: FieldFaultList): boolean {
  let isSized = true;
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    const name = place ? `${place}.${field.name}` : field.name;
    if (field.fieldKind === "scalar") {
      isSized = checkText(message.get(field), name, fieldTextSizes(field).value, faults) && isSized;
    } else if (field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.")) {
      isSized = checkFields(message.get(field), name, faults) && isSized;
    } else if (field.fieldKind === "list" || field.fieldKind === "map") {
      const most = fieldMaxEntries(field);
      if (message.get(field).size > most) {
        faults.add(name, tooManyEntries(most));
        isSized = false;
      } else if (field.fieldKind === "map") {
        isSized = checkMap(message.get(field), name, fieldTextSizes(field), faults) && isSized;
      } else isSized = checkList(message.get(field), name, fieldTextSizes(field), faults) && isSized;
    }
  }
  return isSized;
}

/** @returns whether everything within its items is about within its limits. */
function checkList(list: ReflectList, place: string, { value }: TextSizes, faults: FieldFaultList): boolean {
  let isSized = true;
  let index = 0;
  for (const item of list) {
    const at = `${place}[${index}]`;
    const isItemSized = isReflectMessage(item) ? checkFields(item, at, faults) : checkText(item, at, value, faults);
    isSized = isItemSized && isSized;
    index += 1;
  }
  return isSized;
}

/** @returns whether all names and values are about within their limits. */
function checkMap(
  map: ReflectMap,
  place: string,
  { key: maxOfKey, value }: TextSizes,
  faults: FieldFaultList,
): boolean {
  let isSized = true;
  for (const [key, item] of map) {
    isSized = checkText(key, place, maxOfKey, faults) && isSized;
    isSized = checkText(item, `${place}.${String(key)}`, value, faults) && isSized;
  }
  return isSized;
}

function isReflectMessage(value: unknown): value is ReflectMessage {
  return typeof value === "object" && value !== null && "desc" in value && "fields" in value;
}

/** @returns false for a text that is far longer than `most` characters. */
function checkText(value: unknown, place: string, most: number, faults: FieldFaultList): boolean {
  if (typeof value !== "string") return true;
  if (isFarTooLong(value, most)) {
    faults.add(place, tooLongText(most));
    return false;
  }
  if (!value.isWellFormed() || value.includes("\0")) {
    faults.add(place, "must be a string without NUL characters and of valid Unicode");
  }
  return true;
}
