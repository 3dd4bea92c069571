import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { newDirectory } from "./new-directory.js";
import { findProgram } from "./requirements.js";

/** A page or a frame. */
export interface BrowsingContext {
  readonly context: string;
  readonly url: string;
  readonly children: readonly BrowsingContext[] | null;
}

/** Firefox as Debian has it, with one page. */
export interface Firefox extends AsyncDisposable {
  /** Opens an address in the page. Returns once it has loaded. */
  open(url: string): Promise<void>;
  /** The page with the frames in it. */
  page(): Promise<BrowsingContext>;
  /** The value of an expression, which must be JSON or a promise of it. */
  evaluate(context: string, expression: string): Promise<unknown>;
  /** Puts the focus on an element and presses keys there. */
  press(context: string, selector: string, keys: string): Promise<void>;
  /** Clicks on the middle of an element. */
  click(context: string, selector: string): Promise<void>;
}

/**
 * Starts Firefox and drives it by WebDriver BiDi. Playwright (1.65) has this protocol too, but sends a command that
 * Firefox 153 does not know, before the first page.
 */
export async function launchFirefox(): Promise<Firefox> {
  const folder = newDirectory();
  const program = spawn(
    findProgram("firefox-esr") ?? "",
    ["--headless", "--no-remote", "--profile", folder, "--remote-debugging-port=0", "about:blank"],
    { stdio: ["ignore", "ignore", "pipe"], env: { PATH: process.env.PATH, HOME: folder } },
  );
  const address = await new Promise<string>((resolve, reject) => {
    let said = "";
    program.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const [, found] = /WebDriver BiDi listening on (ws:\S+)/.exec(said) ?? [];
      if (found) resolve(found);
    });
    program.once("exit", (code) => reject(new Error(`Firefox ended with ${code}:\n${said}`)));
  });
  const send = await openSession(`${address}/session`);
  const page = async (): Promise<BrowsingContext> => Object((await send("browsingContext.getTree")).contexts)[0];
  const { context: top } = await page();
  const evaluate = async (context: string, expression: string): Promise<unknown> => {
    // As text: the protocol has a form of its own for objects.
    const asText = `Promise.resolve(${expression}).then((value) => JSON.stringify(value ?? null))`;
    const found = await send("script.evaluate", { expression: asText, target: { context }, awaitPromise: true });
    if (found.type !== "success") throw new Error(`${expression}: ${JSON.stringify(found.exceptionDetails)}`);
    return JSON.parse(Object(found.result).value);
  };
  return {
    page,
    evaluate,
    async open(url) {
      await send("browsingContext.navigate", { context: top, url, wait: "complete" });
    },
    async press(context, selector, keys) {
      await evaluate(context, `document.querySelector(${JSON.stringify(selector)}).focus()`);
      const strokes = [...keys].flatMap((value) => [
        { type: "keyDown", value },
        { type: "keyUp", value },
      ]);
      await send("input.performActions", { context, actions: [{ type: "key", id: "keyboard", actions: strokes }] });
    },
    async click(context, selector) {
      const expression = `document.querySelector(${JSON.stringify(selector)})`;
      const found = await send("script.evaluate", { expression, target: { context }, awaitPromise: false });
      const element = { sharedId: Object(found.result).sharedId };
      const actions = [
        { type: "pointerMove", x: 0, y: 0, origin: { type: "element", element } },
        { type: "pointerDown", button: 0 },
        { type: "pointerUp", button: 0 },
      ];
      await send("input.performActions", { context, actions: [{ type: "pointer", id: "mouse", actions }] });
    },
    async [Symbol.asyncDispose]() {
      program.kill();
      if (program.exitCode === null && program.signalCode === null) await once(program, "exit");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

type Send = (method: string, params?: object) => Promise<Readonly<Record<string, unknown>>>;

async function openSession(address: string): Promise<Send> {
  const socket = new WebSocket(address);
  await once(socket, "open");
  const waiting = new Map<unknown, PromiseWithResolvers<Readonly<Record<string, unknown>>>>();
  socket.addEventListener("message", ({ data }) => {
    const { id, type, result, error, message } = Object(JSON.parse(String(data)));
    if (type === "success") waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(`${error}: ${message}`));
    waiting.delete(id);
  });
  let sent = 0;
  const send: Send = (method, params = {}) => {
    sent += 1;
    const response = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    waiting.set(sent, response);
    socket.send(JSON.stringify({ id: sent, method, params }));
    return response.promise;
  };
  await send("session.new", { capabilities: {} });
  return send;
}
