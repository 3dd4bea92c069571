import { isExact } from "../../base/exact-number.js";
import { FieldFaultList } from "../../base/field-fault-list.js";
import { MAX_NAME_CHARACTERS } from "../../base/field-faults.js";
import { endOfJsonString, startOfJsonString } from "../../base/json-string.js";
import { MAX_NUMBER_CHARACTERS } from "../../base/json-structure.js";

/**
 * Numbers with 16 digits or more, or an exponent: the only ones that a double may not keep. They follow `:`, `,`, `[`,
 * white space or the start; a similar string is a false alarm and costs a walk through the text.
 */
const SUSPECT = /(?:^|[:,[\s])-?(?:[\d.]{16}|[\d.]+[eE])/;

const INEXACT = "holds a number with more digits than JSON numbers keep; send it as a string";

/**
 * Rejects numbers whose digits a double does not keep: a vault must not change digits.
 * @throws {SyntaxError} for such a text that is not JSON.
 * @throws {Fault} validation_failed naming each such number, even if a later member of the same name replaces it.
 */
export function checkExactNumbers(text: string): void {
  if (!SUSPECT.test(text)) return;
  // The walk expects valid JSON. Invalid JSON must be rejected as such, whatever its numbers.
  JSON.parse(text);
  requireExactNumbers(text);
}

/** {@link checkExactNumbers} for a text that was parsed before. */
export function requireExactNumbers(text: string): void {
  if (!SUSPECT.test(text)) return;
  const faults = new FieldFaultList();
  for (const place of inexactNumbers(text)) faults.add(place, INEXACT);
  faults.throwIfAny();
}

interface Container {
  readonly isArray: boolean;
  index: number;
  /** Offset of the current member's name, at its opening quote. */
  nameStart: number;
  /** Its first characters, once requested: 5 MB of escaped text are not decoded for each fault. */
  name: string | undefined;
}

/** The places of the numbers in valid JSON that a double does not keep. Walks the text without building anything. */
function* inexactNumbers(text: string): Generator<string> {
  const open: Container[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at += 1) {
    const container = open.at(-1);
    switch (text[at]) {
      case '"': {
        const end = endOfJsonString(text, at);
        if (isName && container) Object.assign(container, { nameStart: at, name: undefined });
        at = end - 1;
        break;
      }
      case "[":
      case "{":
        isName = text[at] === "{";
        open.push({ isArray: !isName, index: 0, nameStart: 0, name: undefined });
        break;
      case "]":
      case "}":
        open.pop();
        isName = false;
        break;
      case ",":
        if (container) container.index += 1;
        isName = container?.isArray === false;
        break;
      case ":":
        isName = false;
        break;
      default: {
        const end = endOfNumber(text, at);
        if (end === at) break;
        if (!survivesDouble(text.slice(at, end))) yield offsetInText(open, text);
        if (end - at > MAX_NUMBER_CHARACTERS) return;
        at = end - 1;
      }
    }
  }
}

/** The end of the number at `start`, cut at the length limit; `start` if there is no number. */
function endOfNumber(text: string, start: number): number {
  const latest = Math.min(text.length, start + MAX_NUMBER_CHARACTERS + 1);
  let end = start;
  while (end < latest && isNumberUnit(text.charCodeAt(end))) end += 1;
  // "e" is in "true" and "false" too.
  return isLetterE(text.charCodeAt(start)) ? start : end;
}

/** Digits, signs, the point and the letter of an exponent. */
function isNumberUnit(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || unit === 0x2e || unit === 0x2d || unit === 0x2b || isLetterE(unit);
}

function isLetterE(unit: number): boolean {
  return unit === 0x65 || unit === 0x45;
}

/** `people[0].card`, as the caller sent it; `value` for a number that is the whole text. */
function offsetInText(open: readonly Container[], text: string): string {
  let place = "";
  for (const container of open) {
    if (container.isArray) place += `[${container.index}]`;
    else {
      container.name ??= startOfJsonString(text, container.nameStart, MAX_NAME_CHARACTERS);
      place += place === "" ? container.name : `.${container.name}`;
    }
  }
  return place || "value";
}

/** Whether a double keeps all digits of a number. Returns false for one that is too long. */
function survivesDouble(source: string): boolean {
  if (source.length > MAX_NUMBER_CHARACTERS) return false;
  const value = Number(source);
  return String(value) === source || isExact(source, value);
}
