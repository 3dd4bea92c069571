import type { DescMessage, Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { createValidator, type Violation } from "@bufbuild/protovalidate";
import { invalidFields } from "../base/fault.js";

/** Checks a message against the rules that its proto states. */
export type Validate = (message: Message) => void;

const validator = createValidator();

/**
 * Built once for each method. The first look at a message compiles its rules, up to 46 ms, so that it is taken here.
 * @throws {Fault} from the check: validation_failed, naming every field.
 */
export function compileValidation(desc: DescMessage, sample: Message): Validate {
  validator.validate(desc, sample);
  return (message) => {
    const faults: Record<string, string[]> = {};
    checkTexts(reflect(desc, message), "", faults);
    const result = validator.validate(desc, message);
    if (result.kind === "error") throw result.error;
    if (result.kind === "invalid") for (const violation of result.violations) addViolation(violation, faults);
    if (Object.keys(faults).length > 0) throw invalidFields(faults);
  };
}

function addViolation(violation: Violation, faults: Record<string, string[]>): void {
  const place = placeOf(violation);
  faults[place] = [...(faults[place] ?? []), textOf(violation)];
}

/** The validator's own texts, in the form that ours have: they follow a field's name. */
function textOf({ ruleId, message }: Violation): string {
  if (ruleId === "required") return "must be given";
  const list = /^must be in list \[(.*)\]$/.exec(message)?.[1];
  if (list !== undefined) return `must be one of: ${list}`;
  return message.replace(/\bcontain (at least|at most) (\d+) item\(s\)$/, "have $1 $2 entries").replace(/^value /, "");
}

/** `rules[0].container`, `metadata.key`: as the caller sent it. */
function placeOf({ field }: Violation): string {
  let place = "";
  for (const step of field) {
    if (step.kind === "field") place += place ? `.${step.name}` : step.name;
    else if (step.kind === "list_sub") place += `[${step.index}]`;
    else if (step.kind === "map_sub") place += `.${step.key}`;
    else if (step.kind === "oneof") place += place ? `.${step.name}` : step.name;
  }
  return place || "body";
}

/** Names, ids and other plain texts are stored as text, which holds neither NUL nor half a surrogate pair. */
function checkTexts(message: ReflectMessage, place: string, faults: Record<string, string[]>): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    const name = place ? `${place}.${field.name}` : field.name;
    if (field.fieldKind === "scalar") checkText(message.get(field), name, faults);
    else if (field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.")) {
      checkTexts(message.get(field), name, faults);
    } else if (field.fieldKind === "list") {
      let index = 0;
      for (const item of message.get(field)) {
        const at = `${name}[${index}]`;
        if (field.listKind === "scalar") checkText(item, at, faults);
        else if (isReflectMessage(item)) checkTexts(item, at, faults);
        index += 1;
      }
    } else if (field.fieldKind === "map") {
      for (const [key, item] of message.get(field)) {
        checkText(key, name, faults);
        if (field.mapKind === "scalar") checkText(item, `${name}.${String(key)}`, faults);
      }
    }
  }
}

function isReflectMessage(value: unknown): value is ReflectMessage {
  return typeof value === "object" && value !== null && "desc" in value && "fields" in value;
}

function checkText(value: unknown, place: string, faults: Record<string, string[]>): void {
  if (typeof value !== "string" || (value.isWellFormed() && !value.includes("\0"))) return;
  faults[place] = ["must be text without NUL characters and of valid Unicode"];
}
