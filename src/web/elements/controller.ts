import { keyNameOf } from "../../../clients/elements/src/key-name.js";
import type { CallError, ControllerCommand, ControllerEvent } from "../../../clients/elements/src/protocol.js";
import type { TextForm } from "../../../clients/elements/src/text-form.js";
import type { EntryValue } from "./entry-kind.js";
import type { ToController, ToField } from "./field-channel.js";
import { type FrameContext, openFrame } from "./frame-context.js";
import { FramePass } from "./frame-pass.js";
import { messageFields, textIn } from "./messages-in.js";
import { pairWithFields } from "./pairing.js";
import { fits } from "./placement.js";
import { BodyRefused, elementsIn, type Found, fill, type Json } from "./request-body.js";
import { CallFailed, callVault, type VaultCall } from "./vault-api.js";

/**
 * How long a field may take to hand over its value: it responds at once, unless its page was just removed, or after
 * two seconds if the person may still go on.
 */
const FIELD_TIMEOUT_MS = 5_000;
/** The order in which the focus moves on. */
const ORDER = ["cardNumber", "cardExpirationDate", "cardVerificationCode"];

type Values = Readonly<Record<string, EntryValue>>;

interface Field {
  readonly type: string;
  readonly port: MessagePort;
  form: TextForm;
}

openFrame(async (context, init, page) => {
  const key = init.key ?? "";
  const failed = (call: number, error: CallError) => reply(page, { type: "error", call, error });
  // The address named a key, by which the browser let the page show this frame: no other one may be used in it.
  const isOwnKey = (await keyNameOf(key)) === context.key;
  const controller = new Controller(context, key);
  const cancels = new Map<number, AbortController>();
  page.onmessage = async ({ data }: MessageEvent<ControllerCommand>) => {
    if (data.type === "cancel") return cancels.get(data.call)?.abort();
    if (!isOwnKey) return failed(data.call, { code: "wrong_key", message: "The frame was loaded with another key." });
    const cancel = new AbortController();
    cancels.set(data.call, cancel);
    try {
      const value =
        data.type === "session" ? await controller.createSession() : await controller.tokenize(data, cancel.signal);
      reply(page, { type: "result", call: data.call, value });
    } catch (error) {
      failed(data.call, callErrorOf(error));
    } finally {
      cancels.delete(data.call);
    }
  };
});

function reply(page: MessagePort, event: ControllerEvent): void {
  page.postMessage(event);
}

function callErrorOf(error: unknown): CallError {
  if (error instanceof CallFailed) return error.error;
  if (error instanceof BodyRefused) return { code: error.name, message: error.message };
  return { code: "failed", message: "The call failed in the vault's frame." };
}

/** The only frame with a network: it collects values from the fields and calls the API. */
class Controller {
  readonly #key: string;
  readonly #pass: FramePass;
  /** Sent behind the pass. */
  readonly #frame: string;
  readonly #fields = new Map<string, Field>();
  readonly #waiting = new Map<number, (values: Values | undefined) => void>();
  #codeLengths: readonly number[] = [3, 4];
  #calls = 0;
  /** A session that this frame made: the page gets its nonce only. */
  #sessionKey: string | undefined;

  constructor(context: FrameContext, key: string) {
    this.#key = key;
    this.#frame = `${context.key} ${context.pageOrigin}`;
    const path = "/elements/v1/pass";
    this.#pass = new FramePass(context.pass, (pass) =>
      callVault({ method: "POST", path, apiKey: this.#key, frame: `${pass} ${this.#frame}` }),
    );
    pairWithFields(context, (id, type, port) => this.#add(id, { type, port, form: {} }));
  }

  async tokenize(
    { body, idempotencyKey }: { readonly body: unknown; readonly idempotencyKey: string },
    signal: AbortSignal,
  ): Promise<Json> {
    const elements = elementsIn(body);
    for (const found of elements) this.#requireFit(found);
    const ids = [...new Set(elements.map(({ element }) => element))];
    const values = new Map(await Promise.all(ids.map(async (id) => [id, await this.#valuesOf(id)] as const)));
    const missing = ids.filter((id) => values.get(id) === undefined);
    if (missing.length > 0) {
      throw new CallFailed({
        code: "incomplete",
        message: "A field is empty, incomplete or not valid.",
        errors: Object.fromEntries(missing.map((id) => [id, ["must be complete"]])),
      });
    }
    const filled = fill(body, ({ element, part }) => valueFor(values.get(element), part));
    return this.#call({
      method: "POST",
      path: "/tokenize",
      apiKey: this.#key,
      body: filled,
      idempotencyKey,
      signal,
    });
  }

  /** Creates a session for reading. Its key stays here; a back end authorizes it by its nonce. */
  async createSession(): Promise<Json> {
    const response = messageFields(await this.#call({ method: "POST", path: "/sessions", apiKey: this.#key }));
    this.#sessionKey = textIn(response.session_key);
    return { nonce: textIn(response.nonce) ?? null, expiresAt: textIn(response.expires_at) ?? null };
  }

  async #call(call: Omit<VaultCall, "frame">): Promise<Json> {
    return callVault({ ...call, frame: `${await this.#pass.current()} ${this.#frame}` });
  }

  /** @throws {BodyRefused} for an element at a place where its value could be shown, kept too long, or refused. */
  #requireFit(found: Found): void {
    const field = this.#fields.get(found.element);
    if (!field || fits(field, found)) return;
    throw new BodyRefused(
      `${found.place} cannot hold this ${field.type} element: see "What goes where" in the guide to hosted fields`,
    );
  }

  #add(id: string, field: Field): void {
    this.#fields.set(id, field);
    field.port.onmessage = ({ data }: MessageEvent<ToController>) => this.#onMessage(field, data);
    if (field.type === "cardVerificationCode") send(field, { type: "codeLengths", lengths: this.#codeLengths });
  }

  #onMessage(from: Field, message: ToController): void {
    switch (message.type) {
      case "value":
        this.#waiting.get(message.call)?.(message.values);
        break;
      case "form":
        from.form = message;
        return;
      case "used":
        for (const field of this.#fields.values()) if (field !== from) send(field, message);
        return;
      case "codeLengths":
        if (from.type !== "cardNumber") return;
        this.#codeLengths = message.lengths;
        for (const field of this.#ofType("cardVerificationCode")) send(field, message);
        return;
      case "full": {
        const [next] = this.#ofType(ORDER[ORDER.indexOf(from.type) + 1] ?? "");
        if (ORDER.includes(from.type) && next) send(next, { type: "focus" });
        return;
      }
      case "filled":
        if (from.type !== "cardNumber") return;
        for (const field of this.#ofType(message.field)) send(field, { type: "fill", text: message.text });
        return;
      case "read":
        void this.#read(from, message);
    }
  }

  #ofType(type: string): readonly Field[] {
    return [...this.#fields.values()].filter((field) => field.type === type);
  }

  #valuesOf(id: string): Promise<Values | undefined> {
    const field = this.#fields.get(id);
    if (!field) return Promise.resolve(undefined);
    this.#calls += 1;
    const call = this.#calls;
    return new Promise<Values | undefined>((resolve) => {
      const timer = setTimeout(resolve, FIELD_TIMEOUT_MS, undefined);
      this.#waiting.set(call, (values) => {
        clearTimeout(timer);
        this.#waiting.delete(call);
        resolve(values);
      });
      send(field, { type: "value", call });
    });
  }

  async #read(field: Field, { call, token, path }: Extract<ToController, { type: "read" }>): Promise<void> {
    try {
      const apiKey = this.#sessionKey;
      if (apiKey === undefined) {
        throw new CallFailed({
          code: "no_session",
          message: "Call createSession() and have your back end authorize it.",
        });
      }
      const address = `/tokens/${encodeURIComponent(token)}`;
      const response = await this.#call({ method: "GET", path: address, apiKey });
      send(field, { type: "read", call, value: valueAt(messageFields(response).data, path) });
    } catch (error) {
      const { code, message } = callErrorOf(error);
      send(field, { type: "read", call, code, message });
    }
  }
}

function send(field: Field, message: ToField): void {
  field.port.postMessage(message);
}

/** A part of a token's data, by names with dots between them. @throws {CallFailed} if there is no value. */
function valueAt(data: unknown, path: string): string {
  const value = path === "" ? data : path.split(".").reduce((inner: unknown, name) => messageFields(inner)[name], data);
  if (typeof value === "string" || typeof value === "number") return String(value);
  throw new CallFailed({ code: "no_value", message: "The token has no value at this path that the session may see." });
}

/** The value of an element at one place of a body. @throws {CallFailed} */
function valueFor(values: Values | undefined, part: string | undefined): Json {
  const { value, number, expiration, cvc } = messageFields(values);
  if (typeof value === "string") return value;
  const { month, year } = messageFields(value ?? expiration);
  if (number !== undefined) {
    return { number: String(number), expiration_month: Number(month), expiration_year: Number(year), cvc: String(cvc) };
  }
  if (part === "month") return Number(month);
  if (part === "year") return Number(year);
  // Only an expiration date without a part is left, which no place takes.
  throw new BodyRefused("Use month() and year() of an expiration date.");
}
