import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";

/** A TCP proxy in front of a server, whose connections break. */
export class CuttingProxy implements AsyncDisposable {
  readonly #target: URL;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #server = createServer((client) => this.#join(client));
  /** The chance that a chunk cuts its connection, before or after it is forwarded. */
  cutChance = 0;
  /** Nothing is forwarded any more, and no connection ends. */
  isFrozen = false;
  cuts = 0;
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
    const frozen = () => this.isFrozen;
    from.on("data", (chunk: Buffer) => {
      if (frozen()) return;
      if (Math.random() >= this.cutChance) {
        to.write(chunk);
        return;
      }
      // The other side may have received it: that makes a retry dangerous.
      if (Math.random() < 0.5) to.write(chunk, () => this.#cut(pair));
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
