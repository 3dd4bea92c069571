import { invalidInput } from "./errors.js";

/** JSON that may be sent: the caller's values, copied and checked. */
export type Encoded = string | number | boolean | null | Encoded[] | { [key: string]: Encoded };
export type EncodedObject = { [key: string]: Encoded };

/** Above the server's limit of 64, so the server words that refusal. A value that contains itself exceeds any limit. */
const MAX_DEPTH = 200;

/**
 * Copies the input of a call as protobuf's JSON. `special` names the fields, by path, where a Date or bytes may be, which
 * JSON has as text. A patch names its fields in `updateMask`, and leaves out those that are null, which clears them.
 * @throws {AttemptError} with the path of a value that is not JSON, and never the value.
 */
export function encodeInput(input: object, special: string, isPatch: boolean): EncodedObject {
  const fields = special.split(" ");
  const changed: string[] = [];
  const encoded: EncodedObject = {};
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue;
    if (isPatch && name !== "id") changed.push(name);
    if (value !== null) encoded[name] = encode(value, name, fields, 1);
  }
  if (isPatch) encoded.updateMask = changed.join(",");
  return encoded;
}

function encode(value: unknown, path: string, special: readonly string[], depth: number): Encoded {
  if (special.includes(path)) return encodeSpecial(value, path);
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw invalidInput(path, "must be a finite number");
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        throw invalidInput(path, "has more digits than a number keeps: send it as a string");
      }
      return value;
    case "object":
      break;
    default:
      throw invalidInput(path, `must be JSON, not a ${typeof value}`);
  }
  if (value === null) return null;
  if (depth > MAX_DEPTH) throw invalidInput(path, "is nested too deeply, or contains itself");
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      item === undefined ? null : encode(item, `${path}[${index}]`, special, depth + 1),
    );
  }
  if (!isPlain(value)) throw invalidInput(path, `must be JSON, not a ${classOf(value)}`);
  const entries: [string, Encoded][] = [];
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) entries.push([key, encode(item, `${path}.${key}`, special, depth + 1)]);
  }
  // Defines each key, also `__proto__`, where an assignment would set the prototype.
  return Object.fromEntries(entries);
}

function encodeSpecial(value: unknown, path: string): string {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw invalidInput(path, "must be a valid date");
    return value.toISOString();
  }
  const isBytes = path.endsWith(".data");
  if (typeof value === "string") return isBytes ? base64(new TextEncoder().encode(value)) : value;
  if (isBytes && value instanceof Uint8Array) return base64(value);
  throw invalidInput(path, isBytes ? "must be a string or a Uint8Array" : "must be a Date or a string in ISO 8601");
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Objects of other realms count too, such as those of Jest, whose `Object` is another. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function classOf(value: object): string {
  return value.constructor?.name || "class instance";
}
