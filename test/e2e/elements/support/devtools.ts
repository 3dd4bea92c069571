/** A message of the DevTools protocol: a response if it has an id, else an event. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
  readonly sessionId?: string;
}

export type DevToolsEvent = Readonly<Record<string, unknown>>;
type Listener = (event: DevToolsEvent, sessionId: string | undefined) => void;

/**
 * A connection to all targets of a browser at once. Playwright attaches to a frame when it has started; this holds each
 * target until it listens.
 */
export class DevTools implements Disposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<Readonly<Record<string, unknown>>>>();
  readonly #listeners = new Map<string, Set<Listener>>();
  #count = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#hear(JSON.parse(String(data))));
  }

  static async connect(port: number): Promise<DevTools> {
    const { webSocketDebuggerUrl } = Object(await (await fetch(`http://127.0.0.1:${port}/json/version`)).json());
    const socket = new WebSocket(webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    return new DevTools(socket);
  }

  send(method: string, params: object = {}, sessionId?: string): Promise<Readonly<Record<string, unknown>>> {
    this.#count += 1;
    const waiting = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    this.#waiting.set(this.#count, waiting);
    this.#socket.send(JSON.stringify({ id: this.#count, method, params, sessionId }));
    return waiting.promise;
  }

  /** @returns a function that ends it. */
  on(method: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(method) ?? new Set();
    this.#listeners.set(method, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  #hear({ id, method = "", params = {}, result, error, sessionId }: Message): void {
    if (id === undefined) {
      for (const listener of this.#listeners.get(method) ?? []) listener(params, sessionId);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result ?? {});
  }
}
