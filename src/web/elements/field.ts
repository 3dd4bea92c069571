import "./frame.css";
import { LABELS } from "../../../clients/elements/src/labels.js";
import {
  FIELD_TYPES,
  type FieldCommand,
  type FieldEvent,
  type FieldType,
  type InitMessage,
} from "../../../clients/elements/src/protocol.js";
import { createCopyFrame } from "./copy-frame.js";
import type { ToController, ToField } from "./field-channel.js";
import { createFieldFrame, type FieldFrame } from "./field-frame.js";
import { type FrameContext, openFrame } from "./frame-context.js";
import { pairWithController } from "./pairing.js";
import { createRevealFrame } from "./reveal-frame.js";

openFrame((context, init, page) => {
  document.documentElement.lang = init.locale;
  document.documentElement.dir = init.dir;
  document.title = init.options.label ?? LABELS[init.locale][fieldTypeOf(context.type)];
  document.documentElement.style.colorScheme = init.colorScheme;
  if (context.type === "reveal" || context.type === "copy") startReading(context, init, page);
  else startField(context, init, page);
});

function fieldTypeOf(type: string): FieldType {
  return FIELD_TYPES.find((known) => known === type) ?? "text";
}

function startField(context: FrameContext, init: InitMessage, page: MessagePort): void {
  const send = (event: FieldEvent) => page.postMessage(event);
  let controller: MessagePort | undefined;
  const tell = (message: ToController) => controller?.postMessage(message);
  const frame = createFieldFrame(context.type, init, {
    send,
    onCodeLengths: (lengths) => tell({ type: "codeLengths", lengths }),
    onFull: () => tell({ type: "full" }),
    onUsed: () => tell({ type: "used" }),
    onFilled: (field, text) => tell({ type: "filled", field, text }),
  });
  const greet = pairWithController(context, (port) => {
    controller = port;
    port.onmessage = ({ data }: MessageEvent<ToField>) => obey(frame, data, tell);
    const { mask, check } = init.options;
    tell({ type: "form", ...(mask === undefined ? {} : { mask }), ...(check === undefined ? {} : { check }) });
    send({ type: "paired" });
  });
  page.onmessage = ({ data }: MessageEvent<FieldCommand>) => {
    switch (data.type) {
      case "update":
        frame.update(data.options);
        break;
      case "clear":
        frame.clear();
        break;
      case "focus":
        frame.focus();
        break;
      case "blur":
        frame.blur();
        break;
      case "controllerReady":
        greet();
        break;
    }
  };
  greet();
}

async function obey(frame: FieldFrame, message: ToField, tell: (message: ToController) => void): Promise<void> {
  switch (message.type) {
    case "value":
      tell({ type: "value", call: message.call, values: await frame.values() });
      break;
    case "used":
      frame.settle();
      break;
    case "codeLengths":
      frame.setCodeLengths(message.lengths);
      break;
    case "focus":
      frame.focus();
      break;
    case "fill":
      frame.fill(message.text);
      break;
  }
}

/** A frame that reads a value of a token: to show it, or to copy it. */
function startReading(context: FrameContext, init: InitMessage, page: MessagePort): void {
  const send = (event: FieldEvent) => page.postMessage(event);
  const waiting = new Map<number, { resolve(value: string): void; reject(error: Error): void }>();
  let controller: MessagePort | undefined;
  const { token = "", path = "" } = init.options;
  const read = () =>
    new Promise<string>((resolve, reject) => {
      if (!controller) return reject(new Error("The field is not connected yet."));
      const call = waiting.size + 1;
      waiting.set(call, { resolve, reject });
      const message: ToController = { type: "read", call, token, path };
      controller.postMessage(message);
    });
  const shown = context.type === "reveal" ? createRevealFrame(init, read, send) : undefined;
  if (!shown) createCopyFrame(init, read, send);
  const greet = pairWithController(context, (port) => {
    controller = port;
    port.onmessage = ({ data }: MessageEvent<ToField>) => {
      if (data.type !== "read") return;
      const { value, code = "failed", message = "" } = data;
      if (value !== undefined) return waiting.get(data.call)?.resolve(value);
      waiting.get(data.call)?.reject(Object.assign(new Error(message), { name: code }));
    };
    send({ type: "paired" });
  });
  page.onmessage = ({ data }: MessageEvent<FieldCommand>) => {
    if (data.type === "show") void shown?.show();
    else if (data.type === "hide") shown?.hide();
    else if (data.type === "controllerReady") greet();
  };
  greet();
}
