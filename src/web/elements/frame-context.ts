import { parseUrl } from "#client/parse-url.js";
import {
  type InitMessage,
  PROTOCOL,
  type ReadyMessage,
  type RefusedMessage,
} from "../../../clients/elements/src/protocol.js";
import { messageFields } from "./messages-in.js";

/** The purpose of this frame: from the server in its document, and from the loader in its address. */
export interface FrameContext {
  readonly type: string;
  /** The name of the key that the frame was loaded with. */
  readonly key: string;
  /** For the controller alone. */
  readonly pass: string;
  /** 128 random bits that the frames of one group share. */
  readonly nonce: string;
  readonly id: string;
  readonly pageOrigin: string;
}

/** Why a frame does not work where it is. */
class Refused extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Greets the page, and calls `start` once, when the page of an allowed origin has responded. */
export function openFrame(start: (context: FrameContext, init: InitMessage, port: MessagePort) => void): void {
  const [nonce = "", id = "", origin = ""] = location.hash.slice(1).split(".", 2).concat(originInHash());
  try {
    const context = contextOf(nonce, id, origin);
    let isStarted = false;
    addEventListener("message", (event) => {
      const [port] = event.ports;
      if (isStarted || !port || event.source !== parent || event.origin !== context.pageOrigin) return;
      const init = readInit(event.data);
      if (!init || init.nonce !== nonce || init.id !== id) return;
      isStarted = true;
      start(context, init, port);
    });
    const ready: ReadyMessage = { cloakroom: "ready", protocol: PROTOCOL, nonce, id };
    parent.postMessage(ready, context.pageOrigin);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const refused: RefusedMessage = { cloakroom: "refused", nonce, id, code: error.code, message: error.message };
    if (parseUrl(origin)) parent.postMessage(refused, origin);
  }
}

/** The page's origin comes last, because it contains dots. */
function originInHash(): string {
  return decodeURIComponent(location.hash.split(".").slice(2).join("."));
}

/** @throws {Refused} */
function contextOf(nonce: string, id: string, pageOrigin: string): FrameContext {
  const meta = document.querySelector('meta[name="cloakroom"]')?.getAttribute("content");
  const { type, key, pass, origins } = messageFields(JSON.parse(meta ?? "{}"));
  if (self.origin === "null") {
    throw new Refused("frame_sandboxed", "The page's sandbox hides the vault's origin: allow-same-origin is missing.");
  }
  const isAllowed = Array.isArray(origins) && origins.includes(pageOrigin);
  const ancestors = "ancestorOrigins" in location ? [...location.ancestorOrigins] : [pageOrigin];
  if (parent === self || !isAllowed || ancestors[0] !== pageOrigin) {
    throw new Refused("frame_refused", "The page's origin is not in allowed_origins of the key's application.");
  }
  if (!/^[0-9a-f]{32}$/.test(nonce)) throw new Refused("frame_refused", "The frame was not opened by the loader.");
  return { type: String(type), key: String(key), pass: String(pass ?? ""), nonce, id, pageOrigin };
}

function readInit(data: unknown): InitMessage | undefined {
  const { cloakroom, nonce, id, locale, dir, colorScheme, options, key } = messageFields(data);
  if (cloakroom !== "init") return undefined;
  return {
    cloakroom,
    nonce: String(nonce),
    id: String(id),
    locale: localeOf(locale),
    dir: dir === "rtl" ? "rtl" : "ltr",
    colorScheme: String(colorScheme),
    options: messageFields(options),
    ...(typeof key === "string" ? { key } : {}),
  };
}

function localeOf(given: unknown): InitMessage["locale"] {
  return given === "de" || given === "fr" || given === "es" || given === "ar" ? given : "en";
}
