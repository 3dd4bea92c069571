import { ElementsError } from "./error.js";
import { type InitMessage, type Locale, PROTOCOL } from "./protocol.js";

/** A frame that has loaded but sent nothing by then was refused by the browser, which tells the page nothing else. */
const SILENCE_MS = 3_000;
/** How long a frame may take to load. */
const LOAD_MS = 30_000;

export interface FrameOptions {
  readonly baseUrl: string;
  readonly keyName: string;
  readonly type: string;
  readonly nonce: string;
  readonly id: string;
  readonly title: string;
  /** The language of the notice that takes the place of a refused frame. */
  readonly locale: Locale;
  readonly isHidden: boolean;
  init(): Omit<InitMessage, "cloakroom" | "nonce" | "id">;
  /** A channel to the frame; again if the frame was loaded again, because the page moved it. */
  onPort(port: MessagePort): void;
  onFailure(error: ElementsError): void;
}

export interface OpenFrame {
  readonly iframe: HTMLIFrameElement;
  close(): void;
}

/** Opens a frame of the vault and greets it. Messages count only from this frame and this origin. */
export function openFrame(place: Element, options: FrameOptions): OpenFrame {
  const { baseUrl, type, nonce, id } = options;
  const vault = new URL(baseUrl).origin;
  const iframe = createIframe(options);
  let isReady = false;
  let timer = setTimeout(() => fail("frame_timeout", "The vault's frame did not load."), LOAD_MS);
  const close = () => {
    clearTimeout(timer);
    removeEventListener("message", onMessage);
    iframe.remove();
  };
  const fail = (code: string, message: string) => {
    clearTimeout(timer);
    removeEventListener("message", onMessage);
    // biome-ignore lint/suspicious/noConsole: the developer of the page has no other way to learn of it
    console.error(`Cloakroom: ${message}`);
    if (!options.isHidden) iframe.src = noticeAddress(options);
    options.onFailure(new ElementsError({ code, message }));
  };
  const onMessage = (event: MessageEvent) => {
    if (event.source === null || event.source !== iframe.contentWindow) return;
    const { cloakroom, protocol, nonce: sentNonce, id: sentId, code, message } = fieldsOf(event.data);
    if (sentNonce !== nonce || sentId !== id) return;
    // A sandboxed frame has no origin to check. It can only say that it refuses.
    if (cloakroom === "refused") return fail(String(code), refusalText(String(message), vault));
    if (event.origin !== vault || cloakroom !== "ready") return;
    clearTimeout(timer);
    isReady = true;
    if (protocol !== PROTOCOL)
      return fail("version", `The vault's frames speak version ${protocol}, the page ${PROTOCOL}.`);
    const { port1, port2 } = new MessageChannel();
    const init: InitMessage = { cloakroom: "init", nonce, id, ...options.init() };
    iframe.contentWindow?.postMessage(init, vault, [port2]);
    options.onPort(port1);
  };
  addEventListener("message", onMessage);
  iframe.addEventListener("load", () => {
    // The message may arrive before this event.
    if (isReady) return;
    clearTimeout(timer);
    timer = setTimeout(() => fail("frame_refused", refusalText(`The ${type} frame was refused.`, vault)), SILENCE_MS);
  });
  place.append(iframe);
  return { iframe, close };
}

/** Shows that a field cannot be shown, where none of its frames could even be tried. */
export function openNotice(place: Element, options: Pick<FrameOptions, "baseUrl" | "locale" | "title">): OpenFrame {
  const iframe = document.createElement("iframe");
  iframe.src = noticeAddress(options);
  iframe.title = options.title;
  Object.assign(iframe.style, { border: "0", width: "100%" });
  place.append(iframe);
  return { iframe, close: () => iframe.remove() };
}

function noticeAddress({ baseUrl, locale }: Pick<FrameOptions, "baseUrl" | "locale">): string {
  return `${baseUrl}/elements/v1/notice?locale=${locale}`;
}

function createIframe({ baseUrl, keyName, type, nonce, id, title, isHidden }: FrameOptions): HTMLIFrameElement {
  const iframe = document.createElement("iframe");
  const query = new URLSearchParams({ key: keyName, type });
  iframe.src = `${baseUrl}/elements/v1/frame?${query}#${nonce}.${id}.${encodeURIComponent(location.origin)}`;
  iframe.title = title;
  iframe.referrerPolicy = "strict-origin";
  iframe.allow = allowedFeatures().join("; ");
  Object.assign(iframe.style, { border: "0", width: "100%", background: "transparent" });
  if (isHidden) {
    iframe.hidden = true;
    iframe.setAttribute("aria-hidden", "true");
    iframe.tabIndex = -1;
  }
  return iframe;
}

/** Permissions that a frame needs: to be filled with its siblings, and to copy a revealed value. */
const FEATURES = ["autofill", "manual-text", "clipboard-write"];

interface ChromiumDocument extends Document {
  readonly featurePolicy?: { features(): readonly string[] };
}

/** Those that the browser knows: Chromium warns of each other one in the console of the page. */
function allowedFeatures(): readonly string[] {
  const { featurePolicy }: ChromiumDocument = document;
  const known = featurePolicy?.features();
  return known ? FEATURES.filter((feature) => known.includes(feature)) : FEATURES;
}

function refusalText(text: string, vault: string): string {
  return (
    `${text} Add ${location.origin} to allowed_origins of the public application at ${vault}, and check that the key is ` +
    "valid and that no Content-Security-Policy (frame-src), sandbox or outer page forbids the frame."
  );
}

/** The fields of a message, without a prototype. */
export function fieldsOf(data: unknown): Readonly<Record<string, unknown>> {
  return Object.assign(Object.create(null), typeof data === "object" && data !== null ? data : {});
}
