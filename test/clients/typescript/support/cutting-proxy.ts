import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";

/** A TCP proxy in front of a server, whose connections break. */
export class CuttingProxy implements AsyncDisposable {
  readonly #target: URL;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #server = createServer((client) => this.#join(client));
  /** Every n-th chunk cuts its connection, alternately before and after it is forwarded. 0 cuts none. */
  cutEvery = 0;
  readonly #frozen = new Set<readonly [Socket, Socket]>();
  cuts = 0;
  #chunks = 0;
  accepted = 0;

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async start(target: string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  /** Existing connections forward nothing any more and stay open. */
  freezeAll(): void {
    for (const pair of this.#pairs) this.#frozen.add(pair);
  }

  cutAll(): void {
    for (const pair of this.#pairs) this.#cut(pair);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cutAll();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(client: Socket): void {
    this.accepted += 1;
    const server = createConnection(Number(this.#target.port), this.#target.hostname);
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    this.#pass(client, server, pair);
    this.#pass(server, client, pair);
  }

  #pass(from: Socket, to: Socket, pair: readonly [Socket, Socket]): void {
    from.on("data", (chunk: Buffer) => {
      if (this.#frozen.has(pair)) return;
      this.#chunks += 1;
      if (this.cutEvery === 0 || this.#chunks % this.cutEvery !== 0) {
        to.write(chunk);
        return;
      }
      // The other side may have received it: that makes a retry dangerous.
      if (this.cuts % 2 === 0) to.write(chunk, () => this.#cut(pair));
      else this.#cut(pair);
    });
    from.on("error", () => this.#end(pair));
    from.on("close", () => this.#end(pair));
  }

  #cut(pair: readonly [Socket, Socket]): void {
    this.cuts += 1;
    this.#end(pair);
  }

  #end(pair: readonly [Socket, Socket]): void {
    this.#pairs.delete(pair);
    // The server gets what was written to it; the client loses the connection at once.
    pair[0].destroy();
    pair[1].end();
  }
}
