import { validateHeaderName, validateHeaderValue } from "node:http";
import { Fault } from "../base/fault.js";
import { isJsonObject, type Json, type JsonObject, setOwnProperty } from "../base/json.js";
import { exceededLimit, type JsonLimits, MAX_NAMES, MAX_RESULT_VALUES } from "../base/json-structure.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { unusableResult } from "../functions/function-failed.js";
import { isJsonBody } from "./body-format.js";
import { ExactNumbers } from "./exact-json.js";
import { headerValue } from "./forward.js";

/** Twice the depth that the API accepts. Each level of a value is a recursive call. */
const DEPTH_LIMIT: JsonLimits = { depth: 128, values: Number.POSITIVE_INFINITY, names: Number.POSITIVE_INFINITY };

/** As many values as JSON of 5 MB has. Parsing and writing this many holds the event loop for 80 ms each. */
const TRANSFORM_LIMITS: JsonLimits = { depth: Number.POSITIVE_INFINITY, values: MAX_RESULT_VALUES, names: MAX_NAMES };

/** Headers that code may return: the limit of a request to us. */
const MAX_HEADERS = 200;

/** Why transforms cannot see a body as an object; undefined if they can, or if they see it as text. */
export function structureProblem(headers: readonly HeaderPair[], bytes: Buffer): string | undefined {
  if (!isJsonBody(headerValue(headers, "content-type"))) return undefined;
  switch (exceededLimit(bytes, TRANSFORM_LIMITS)) {
    case "values":
      return `must hold at most ${TRANSFORM_LIMITS.values} values to be transformed`;
    case "names":
      return `must hold at most ${TRANSFORM_LIMITS.names} different field names to be transformed`;
    default:
      return undefined;
  }
}

/**
 * Headers and a body on their way through transforms. A body that no step changed keeps its bytes: writing it again
 * would change JSON's spelling and destroy data that is not text. A changed body keeps the numbers that a double cannot
 * represent: see {@link ExactNumbers}.
 */
export class Message {
  headers: readonly HeaderPair[];
  #body: Json;
  /** The original body, or its last rewrite. */
  #source: Buffer;
  #isSourceJson: boolean;
  #isChanged = false;

  constructor(headers: readonly HeaderPair[], bytes: Buffer) {
    this.headers = headers;
    this.#body = isJsonBody(headerValue(headers, "content-type")) ? parsedOr(bytes) : bytes.toString("utf8");
    this.#source = bytes;
    this.#isSourceJson = typeof this.#body !== "string";
  }

  /** Parsed if the body is JSON; otherwise its text. Do not change it in place. */
  get body(): Json {
    return this.#body;
  }

  set body(body: Json) {
    if (body === this.#body) return;
    this.#body = body;
    this.#isChanged = true;
  }

  /** @throws {Fault} unprocessable for a changed body with ambiguous numbers. */
  get bytes(): Buffer {
    if (!this.#isChanged) return this.#source;
    if (this.#body === null) return Buffer.alloc(0);
    return Buffer.from(typeof this.#body === "string" ? this.#body : this.#written());
  }

  #written(): string {
    if (!this.#isSourceJson) return JSON.stringify(this.#body);
    const text = new ExactNumbers(this.#source.toString("utf8")).write(this.#body);
    if (text !== undefined) return text;
    throw new Fault(
      "unprocessable",
      "The body holds numbers with more digits than code is shown, and they are ambiguous after the change. Send them as strings.",
    );
  }

  /** Changes the text of the body, whatever its type. */
  rewrite(text: string): void {
    if (text === this.bytes.toString("utf8")) return;
    this.#source = Buffer.from(text);
    this.#isChanged = false;
    this.#body = typeof this.#body === "string" ? text : parsedOr(this.#source);
    this.#isSourceJson = typeof this.#body !== "string";
  }

  /**
   * Headers as code sees them: the values of one name joined, except Set-Cookie, whose values could not be separated
   * again. Multiple Cookie headers are joined as a browser does (RFC 6265, 4.2.1).
   */
  headersObject(): JsonObject {
    const object: JsonObject = {};
    for (const [name, value] of this.headers) {
      const earlier = Object.hasOwn(object, name) ? object[name] : undefined;
      if (earlier === undefined) setOwnProperty(object, name, value);
      else if (name.toLowerCase() === "set-cookie") setOwnProperty(object, name, [earlier, value].flat());
      else setOwnProperty(object, name, `${earlier}${name.toLowerCase() === "cookie" ? "; " : ", "}${value}`);
    }
    return object;
  }

  /**
   * Takes the result of code. A body that equals the one code received, in the same order, counts as unchanged. A body
   * that is not text is JSON, with that content type unless the code names another.
   * @throws {FunctionFailed} if the result is not a body with headers, or the headers cannot be sent.
   */
  take(returned: Json): void {
    const headers = isJsonObject(returned) ? returned.headers : undefined;
    if (!isJsonObject(returned) || returned.body === undefined || !isJsonObject(headers)) {
      throw unusableResult("A transform must return an object with body and headers.");
    }
    if (Object.keys(headers).length > MAX_HEADERS) {
      throw unusableResult(`A transform must return at most ${MAX_HEADERS} headers.`);
    }
    const pairs = Object.entries(headers).flatMap(([name, value]) =>
      [value].flat().flatMap((one) => (one === null || typeof one === "object" ? [] : [headerPair(name, String(one))])),
    );
    const isTyped = returned.body === null || typeof returned.body === "string" || headerValue(pairs, "content-type");
    this.headers = isTyped ? pairs : [...pairs, ["Content-Type", JSON_TYPE]];
    if (!isSame(returned.body, this.#body)) this.body = returned.body;
  }
}

const JSON_TYPE = "application/json; charset=utf-8";

function isSame(one: Json, other: Json): boolean {
  if (typeof one !== "object" || typeof other !== "object") return one === other;
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A header for sending, with characters beyond one byte as UTF-8. @throws {FunctionFailed} if it is invalid. */
export function headerPair(name: string, text: string): HeaderPair {
  const value = /^[\0-\xff]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw unusableResult("A transform must return headers that HTTP can carry, without line breaks.");
  }
  return [name, value];
}

/** Returns the text of a body with a JSON type that is not valid JSON, or is nested too deep to walk. */
function parsedOr(bytes: Buffer): Json {
  const text = bytes.toString("utf8");
  if (exceededLimit(bytes, DEPTH_LIMIT) === "depth") return text;
  try {
    const parsed: Json = JSON.parse(text);
    return parsed;
  } catch {
    return text;
  }
}
