import type { FrameContext } from "./frame-context.js";
import { messageFields } from "./messages-in.js";

/*
 * Fields and the controller of a group find each other among the page's frames. Every message is addressed to the
 * vault's own origin, and the controller makes the channels: the page could keep an end of a channel that it made.
 */

/** A field calls the controller. `onPort` gets the channel, again if the controller was loaded again. */
export function pairWithController(context: FrameContext, onPort: (port: MessagePort) => void): () => void {
  addEventListener("message", (event) => {
    const [port] = event.ports;
    if (port && isOfGroup(event, context, "pair")) onPort(port);
  });
  const hello = { ...introduction(context, "hello"), id: context.id, type: context.type };
  return () => {
    for (const frame of ownSiblings()) frame.postMessage(hello, location.origin);
  };
}

/** The controller answers every field of its group with a channel. */
export function pairWithFields(
  context: FrameContext,
  onField: (id: string, type: string, port: MessagePort) => void,
): void {
  addEventListener("message", (event) => {
    if (!isOfGroup(event, context, "hello") || !isWindow(event.source)) return;
    const { id, type } = messageFields(event.data);
    const { port1, port2 } = new MessageChannel();
    onField(String(id), String(type), port1);
    event.source.postMessage(introduction(context, "pair"), location.origin, [port2]);
  });
}

function introduction({ nonce, key, pageOrigin }: FrameContext, cloakroom: "hello" | "pair") {
  return { cloakroom, nonce, key, pageOrigin };
}

/** From a frame of the vault, in the same page, with the same key and nonce. */
function isOfGroup(event: MessageEvent, context: FrameContext, kind: "hello" | "pair"): boolean {
  if (event.origin !== location.origin || !isWindow(event.source)) return false;
  if (event.source === self || event.source.parent !== parent) return false;
  const { cloakroom, nonce, key, pageOrigin } = messageFields(event.data);
  return cloakroom === kind && nonce === context.nonce && key === context.key && pageOrigin === context.pageOrigin;
}

function isWindow(source: MessageEventSource | null): source is Window {
  return source !== null && "parent" in source;
}

/** The vault's other frames in the page. Reading the location of any other frame throws. */
function ownSiblings(): readonly Window[] {
  return Array.from({ length: parent.length }, (_, index) => parent[index]).flatMap((frame) => {
    try {
      return frame && frame !== self && frame.location.origin === location.origin ? [frame] : [];
    } catch {
      return [];
    }
  });
}
