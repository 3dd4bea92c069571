import { type CreateOptions, type ElementGroup, SecureElement } from "./element.js";
import { ElementsError } from "./error.js";
import { fieldsOf, type OpenFrame, openFrame } from "./frame.js";
import { keyNameOf } from "./key-name.js";
import { LABELS } from "./labels.js";
import {
  type Appearance,
  type CallError,
  type ControllerCommand,
  FIELD_TYPES,
  type FieldType,
  LOCALES,
  type Locale,
  type Placeholder,
} from "./protocol.js";
import { problemOfForm } from "./text-form.js";

export type { ChangeEvent, CreateOptions, ElementEvents, SecureElement, Unsubscribe } from "./element.js";
export { ElementsError } from "./error.js";
export type {
  Appearance,
  ElementOptions,
  ElementStyle,
  FieldError,
  FieldState,
  FieldType,
  Locale,
  StyleRules,
} from "./protocol.js";

export interface ElementsOptions {
  /** The vault's address, such as `https://vault.example.com`. */
  readonly baseUrl: string;
  /** The key of a public application that lists this page's origin in `allowed_origins`. */
  readonly publicKey?: string;
  /** In its place: a session key of such an application, authorized by a back end. */
  readonly session?: string;
  /** Language of labels and errors. Default: the page's, or English. */
  readonly locale?: string;
  /** How the group's fields look; an element's own `appearance` replaces it. */
  readonly appearance?: Appearance;
}

/** JSON that contains elements in the place of values. */
export type Body =
  | null
  | boolean
  | number
  | string
  | SecureElement
  | Placeholder
  | readonly Body[]
  | { readonly [name: string]: Body };

export interface TokenizeOptions {
  readonly signal?: AbortSignal;
  /** Repeats with the same key create the tokens once. Default: a new one for each call. */
  readonly idempotencyKey?: string;
}

/** The fields of a page that work together. */
export interface Elements {
  create(type: FieldType, options?: CreateOptions): SecureElement;
  /**
   * Creates tokens of a body that names elements in the place of values. Resolves to the body with tokens in it, without
   * their data.
   * @throws {ElementsError}
   */
  tokenize(body: Body, options?: TokenizeOptions): Promise<unknown>;
  /**
   * Creates a session for `reveal` elements, whose key stays in the vault's frame. Send the nonce to your back end, which
   * authorizes it.
   */
  createSession(): Promise<{ readonly nonce: string; readonly expiresAt: string }>;
  /** Removes all elements of the group. */
  destroy(): void;
}

/** Makes a group of hosted fields. @throws {ElementsError} for options that cannot work. */
export function elements(options: ElementsOptions): Elements {
  return new Group(options);
}

class Group implements ElementGroup, Elements {
  readonly baseUrl: string;
  readonly nonce: string;
  readonly locale: Locale;
  readonly #key: string;
  readonly #appearance: Appearance;
  readonly #elements = new Set<SecureElement>();
  readonly #calls = new Map<number, { resolve(value: unknown): void; reject(error: ElementsError): void }>();
  /** Calls without options, by their body. */
  readonly #running = new Map<string, Promise<unknown>>();
  #count = 0;
  #frame: OpenFrame | undefined;
  #controller: Promise<MessagePort> | undefined;

  constructor({ baseUrl, publicKey, session, locale, appearance = {} }: ElementsOptions) {
    const key = publicKey ?? session;
    if (key === undefined || (publicKey !== undefined && session !== undefined)) {
      throw new ElementsError({ code: "options", message: "Give either publicKey or session." });
    }
    this.baseUrl = checkedBaseUrl(baseUrl);
    if (self.origin === "null") {
      throw new ElementsError({
        code: "frame_sandboxed",
        message: "This page is sandboxed, or opened as a file: it has no origin.",
      });
    }
    this.#key = key;
    this.#appearance = appearance;
    this.nonce = randomHex(16);
    const wanted = (locale ?? document.documentElement.lang).slice(0, 2).toLowerCase();
    this.locale = LOCALES.find((known) => known === wanted) ?? "en";
  }

  create(type: FieldType, options: CreateOptions = {}): SecureElement {
    if (!FIELD_TYPES.includes(type)) {
      throw new ElementsError({
        code: "options",
        message: `There is no element ${type}. Use: ${FIELD_TYPES.join(", ")}`,
      });
    }
    const problem = type === "text" ? problemOfForm(options) : undefined;
    if (problem !== undefined) throw new ElementsError({ code: "options", message: problem });
    const element = new SecureElement(this, randomHex(8), type, { appearance: this.#appearance, ...options });
    this.#elements.add(element);
    return element;
  }

  tokenize(body: Body, options?: TokenizeOptions): Promise<unknown> {
    const plain = plainBody(body);
    if (options) return this.#tokenize(plain, options);
    // A second click while the first one's call runs creates no further token.
    const text = JSON.stringify(plain);
    const running = this.#running.get(text);
    if (running) return running;
    const call = this.#tokenize(plain, {}).finally(() => this.#running.delete(text));
    this.#running.set(text, call);
    return call;
  }

  async createSession(): Promise<{ readonly nonce: string; readonly expiresAt: string }> {
    const { nonce, expiresAt } = fieldsOf(await this.#call((call) => ({ type: "session", call })));
    return { nonce: String(nonce), expiresAt: String(expiresAt) };
  }

  destroy(): void {
    for (const element of this.#elements) element.destroy();
    this.#frame?.close();
    this.#frame = undefined;
    this.#controller = undefined;
    for (const { reject } of this.#calls.values()) {
      reject(new ElementsError({ code: "destroyed", message: "The elements were destroyed." }));
    }
    this.#calls.clear();
  }

  /** The name of the key, which addresses may contain. */
  async keyName(): Promise<string> {
    if (!self.isSecureContext) {
      throw new ElementsError({ code: "insecure", message: "Hosted fields need a page over https, or on localhost." });
    }
    const name = await keyNameOf(this.#key);
    if (name !== undefined) return name;
    throw new ElementsError({
      code: "options",
      message: "The key must be that of a public application or of a session.",
    });
  }

  /** The hidden frame that alone calls the vault; opened with the first element. */
  controller(): Promise<MessagePort> {
    this.#controller ??= this.#open().catch((error: unknown) => {
      // The next try loads it again.
      this.#frame?.close();
      this.#frame = undefined;
      this.#controller = undefined;
      throw error;
    });
    return this.#controller;
  }

  remove(element: SecureElement): void {
    this.#elements.delete(element);
  }

  async #open(): Promise<MessagePort> {
    const keyName = await this.keyName();
    return new Promise<MessagePort>((resolve, reject) => {
      this.#frame = openFrame(document.body, {
        ...{ baseUrl: this.baseUrl, keyName, type: "controller", nonce: this.nonce, id: "controller" },
        ...{ title: LABELS[this.locale].controller, locale: this.locale, isHidden: true },
        init: () => ({ locale: this.locale, dir: "ltr", colorScheme: "normal", options: {}, key: this.#key }),
        onPort: (port) => {
          port.onmessage = ({ data }) => this.#onMessage(data);
          resolve(port);
        },
        onFailure: reject,
      });
    });
  }

  #tokenize(body: unknown, { signal, idempotencyKey = randomHex(16) }: TokenizeOptions): Promise<unknown> {
    return this.#call((call) => ({ type: "tokenize", call, body, idempotencyKey }), signal);
  }

  async #call(make: (call: number) => ControllerCommand, signal?: AbortSignal): Promise<unknown> {
    const cancelled = () => new ElementsError({ code: "cancelled", message: "The call was cancelled." });
    if (signal?.aborted) throw cancelled();
    const port = await this.controller();
    if (signal?.aborted) throw cancelled();
    this.#count += 1;
    const call = this.#count;
    const command = make(call);
    const cancel = () => {
      const message: ControllerCommand = { type: "cancel", call };
      port.postMessage(message);
      this.#calls.get(call)?.reject(cancelled());
    };
    try {
      return await new Promise<unknown>((resolve, reject) => {
        this.#calls.set(call, { resolve, reject });
        signal?.addEventListener("abort", cancel);
        port.postMessage(command);
      });
    } finally {
      this.#calls.delete(call);
      signal?.removeEventListener("abort", cancel);
    }
  }

  #onMessage(data: unknown): void {
    const { type, call, value, error } = fieldsOf(data);
    const waiting = this.#calls.get(Number(call));
    if (type === "result") waiting?.resolve(value);
    else if (type === "error") waiting?.reject(new ElementsError(readCallError(error)));
  }
}

function readCallError(error: unknown): CallError {
  const { code, message, status, errors, traceId } = fieldsOf(error);
  const problems = Object.entries(fieldsOf(errors)).map(([place, texts]): [string, string[]] => [
    place,
    Array.isArray(texts) ? texts.map(String) : [],
  ]);
  return {
    ...{ code: String(code), message: String(message) },
    ...(typeof status === "number" ? { status } : {}),
    ...(typeof traceId === "string" ? { traceId } : {}),
    ...(problems.length > 0 ? { errors: Object.fromEntries(problems) } : {}),
  };
}

/** The vault's address without a slash at the end. @throws {ElementsError} for text that is not a URL. */
function checkedBaseUrl(text: string): string {
  try {
    return new URL(text).href.replace(/\/+$/, "");
  } catch {
    throw new ElementsError({ code: "options", message: "baseUrl must be a URL." });
  }
}

/** The body as JSON, with the names of elements in their places. */
function plainBody(body: Body): unknown {
  if (body instanceof SecureElement) return { $element: body.$element };
  if (Array.isArray(body)) return body.map(plainBody);
  if (typeof body !== "object" || body === null) return body;
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, plainBody(value)]));
}

function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return [...random].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
