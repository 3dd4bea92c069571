import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../database-error.js";
import { DatabaseSession, isPassing } from "./database-session.js";
import type { RunningDatabase } from "./running-database.js";

/** How long another session may hold the owner's lock before we believe it, in milliseconds. */
const DOUBT = 3_000;
const POLL = 100;

/**
 * The owner's advisory lock, held for as long as it owns the database. It repeats what the directory lock says, for file
 * systems whose locks do nothing, and outlives the connection: when a backend crashes, PostgreSQL drops every connection
 * and goes on, and the lock is taken again.
 */
export class Ownership {
  readonly #running: RunningDatabase;
  #session: DatabaseSession;
  #released = false;
  #lost = false;
  /** Resolves with a sentence when another process has become the owner. */
  readonly lost: Promise<string>;

  /** @param running a database whose session holds the owner's lock */
  constructor(running: RunningDatabase) {
    this.#running = running;
    this.#session = running.session;
    this.lost = this.#keep();
  }

  /** The server belongs to another process now, and is not ours to stop. */
  get isLost(): boolean {
    return this.#lost;
  }

  async release(): Promise<void> {
    this.#released = true;
    await this.#session.end();
  }

  async #keep(): Promise<string> {
    for (;;) {
      await this.#session.closed;
      const session = await this.#retake();
      if (typeof session === "string") {
        if (this.#done()) return this.#running.server.ended;
        this.#lost = true;
        return session;
      }
      this.#session = session;
    }
  }

  /** A new session with the lock, or why there is none. */
  async #retake(): Promise<DatabaseSession | string> {
    let giveUp = Number.POSITIVE_INFINITY;
    for (; !this.#done(); await sleep(POLL)) {
      const outcome = await this.#tryOnce();
      if (outcome instanceof DatabaseSession) return outcome;
      if (outcome !== "held" && !isPassing(outcome)) return `the database refuses its owner (${outcome})`;
      if (outcome === "held") giveUp = Math.min(giveUp, Date.now() + DOUBT);
      if (Date.now() > giveUp) return "another process has taken the database over";
    }
    return "released";
  }

  /** A new session with the lock, "held" when another has it, or the code of the failure. */
  async #tryOnce(): Promise<DatabaseSession | string> {
    try {
      const session = await DatabaseSession.open(this.#running.connection);
      if (!this.#released && (await session.tryOwn())) return session;
      await session.end();
      return "held";
    } catch (error) {
      return codeOf(error);
    }
  }

  #done(): boolean {
    return this.#released || this.#running.server.hasEnded();
  }
}
