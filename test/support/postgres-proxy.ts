import { createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { DatabaseAddress } from "../../src/store/postgres/connect.js";
import { FrameReader } from "./postgres-frames.js";

type LocalAddress = Exclude<DatabaseAddress, { readonly url: string }>;

const END = Symbol("the end of a step");

/** A fault that one connection meets once, at a chosen statement. */
export interface Trap {
  /**
   * - `before`: the statement is on its way to the database
   * - `result`: the database has run it, and everything up to the next Sync; its result is on its way back
   * - `pause`: it is answered like everything else that was sent, and the transaction is still open
   */
  readonly at: "before" | "result" | "pause";
  /** Matched against the statement's text. */
  readonly statement?: RegExp;
  /** This many occurrences pass first. */
  readonly skip?: number;
  /**
   * - `cut`: both sides lose the connection; the message that triggered the fault arrives nowhere
   * - `orphan`: the client loses it; the database gets everything and continues alone
   * - `hang`: nothing is forwarded any more, in either direction
   */
  readonly does: "cut" | "orphan" | "hang";
}

interface SetTrap extends Trap {
  left: number;
  readonly sprung: () => void;
}

interface Link {
  readonly id: number;
  readonly client: Socket;
  readonly database: Socket;
  /** Statements that are not answered yet, and the ends of the groups that are answered together. */
  readonly pending: (string | typeof END)[];
  state: "open" | "orphan" | "hung" | "cut";
}

/** One statement as it went over the wire. */
export interface SentStatement {
  readonly connection: number;
  readonly text: string;
}

/** Sits between clients and a PostgreSQL, records the traffic, and fails as networks and servers do. */
export class PostgresProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: LocalAddress;
  readonly #links = new Set<Link>();
  #traps: SetTrap[] = [];
  #port = 0;
  #mood: "present" | "away" | "hanging" | "refusing" = "present";
  #refusal = "";
  /** Every statement of clients, in the order of the wire. */
  readonly sent: SentStatement[] = [];
  /** Requests for a response: simple queries, and Syncs. */
  steps = 0;
  /** Connections that clients have opened so far. */
  opened = 0;

  private constructor(target: LocalAddress) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async before(target: LocalAddress): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(target);
    await proxy.#listen();
    return proxy;
  }

  /** The database's address with the proxy in its place. */
  get address(): LocalAddress {
    return { ...this.#target, host: "127.0.0.1", port: this.#port };
  }

  get texts(): string[] {
    return this.sent.map(({ text }) => text);
  }

  get links(): number {
    return this.#links.size;
  }

  /** Resolves when the fault has happened. */
  set(trap: Trap): Promise<void> {
    return new Promise((sprung) => this.#traps.push({ ...trap, left: trap.skip ?? 0, sprung }));
  }

  /** Forgets the faults that have not happened. */
  disarm(): void {
    this.#traps = [];
  }

  /** From now on the database is unreachable: connections are lost, and new ones end at once. */
  goAway(): void {
    this.#mood = "away";
    for (const link of this.#links) this.#cut(link);
  }

  /** From now on nothing is forwarded, on old connections or new ones. */
  hangAll(): void {
    this.#mood = "hanging";
    for (const link of this.#links) link.state = "hung";
  }

  /** From now on new connections get PostgreSQL's error for starting up, or another one. */
  refuseWith(code: string): void {
    this.#mood = "refusing";
    this.#refusal = code;
  }

  /** New connections work again. */
  comeBack(): void {
    this.#mood = "present";
  }

  /** From now on there is no listener at this address. */
  async stopListening(): Promise<void> {
    this.goAway();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async listenAgain(): Promise<void> {
    this.comeBack();
    if (!this.#server.listening) await this.#listen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopListening();
  }

  async #listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (typeof address === "object" && address !== null) this.#port = address.port;
  }

  #accept(client: Socket): void {
    client.setNoDelay(true).on("error", () => {});
    if (this.#mood === "away") return void client.destroy();
    this.opened += 1;
    if (this.#mood === "refusing") {
      client.once("data", () => client.end(errorResponse(this.#refusal)));
      return;
    }
    const { host, port } = this.#target;
    const database = host.startsWith("/")
      ? createConnection(join(host, `.s.PGSQL.${port}`))
      : createConnection({ host, port });
    const link: Link = {
      id: this.opened,
      client,
      database,
      pending: [],
      state: this.#mood === "hanging" ? "hung" : "open",
    };
    this.#links.add(link);
    database.on("error", () => {});
    client.on("close", () => {
      if (link.state !== "orphan") this.#cut(link);
    });
    database.on("close", () => this.#cut(link));
    this.#readClient(link);
    this.#readDatabase(link);
  }

  #readClient(link: Link): void {
    const frames = new FrameReader("client");
    link.client.on("data", (chunk: Buffer) => {
      for (const { bytes, runs, ends } of frames.read(chunk)) {
        if (link.state === "hung" || link.state === "cut") return;
        if (runs !== undefined) {
          this.sent.push({ connection: link.id, text: runs });
          link.pending.push(runs);
          const trap = this.#sprung("before", runs);
          if (trap === "orphan") this.#orphan(link);
          else if (trap) return this.#fail(link, trap);
        }
        if (ends) {
          this.steps += 1;
          link.pending.push(END);
        }
        link.database.write(bytes);
      }
    });
  }

  #readDatabase(link: Link): void {
    const frames = new FrameReader("database");
    let response: Buffer[] = [];
    let last = "";
    link.database.on("data", (chunk: Buffer) => {
      for (const { bytes, ran, ready } of frames.read(chunk)) {
        if (link.state === "hung" || link.state === "cut") return;
        // A response is forwarded in one piece, so it arrives completely or not at all.
        response.push(bytes);
        const isPart = link.pending.some((sent) => sent !== END) && !ran;
        if (ready === undefined && isPart) continue;
        if (ran) last = runOf(link.pending) ?? last;
        // An error ends the step: later messages were dropped.
        if (ready !== undefined) link.pending.splice(0, link.pending.indexOf(END) + 1);
        const trap = ran ? this.#sprung("result", last) : undefined;
        if (trap) return this.#fail(link, trap);
        if (link.state === "open") link.client.write(Buffer.concat(response));
        response = [];
        if (ready === "T" && link.pending.length === 0) {
          const pause = this.#sprung("pause", last);
          if (pause === "cut") {
            link.client.end();
            link.database.destroy();
          } else if (pause) this.#fail(link, pause);
        }
      }
    });
  }

  #sprung(at: Trap["at"], text: string): Trap["does"] | undefined {
    const trap = this.#traps.find((set) => set.at === at && (set.statement?.test(text) ?? true));
    if (!trap || trap.left-- > 0) return undefined;
    this.#traps = this.#traps.filter((other) => other !== trap);
    trap.sprung();
    return trap.does;
  }

  #fail(link: Link, how: Trap["does"]): void {
    if (how === "hang") link.state = "hung";
    else if (how === "orphan") this.#orphan(link);
    else this.#cut(link);
  }

  #orphan(link: Link): void {
    link.state = "orphan";
    link.client.destroy();
  }

  #cut(link: Link): void {
    link.state = "cut";
    link.client.destroy();
    link.database.destroy();
    this.#links.delete(link);
  }
}

/** Takes the statement that ran next. */
function runOf(pending: Link["pending"]): string | undefined {
  const [next] = pending;
  if (typeof next !== "string") return undefined;
  pending.shift();
  return next;
}

/** A fatal error with a code. */
function errorResponse(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mnot now\0\0`);
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeUInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}
