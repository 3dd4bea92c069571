import type { OpenResponse } from "./exchange.js";

/** Kinds of requests that a summary names; others are counted. */
const MAX_NAMED = 10;

/** Requests without a complete response, by method and path template: a stopping server logs what it waits for. */
export class InFlight {
  readonly #requests = new Map<OpenResponse, string>();

  begin(response: OpenResponse): void {
    this.#requests.set(response, "not routed yet");
    response.once("close", () => this.#requests.delete(response));
  }

  /** @param template of the request's path; undefined if no route matches. */
  route(response: OpenResponse, method = "", template = "nothing"): void {
    if (this.#requests.has(response)) this.#requests.set(response, `${method} ${template}`);
  }

  get count(): number {
    return this.#requests.size;
  }

  /** For the operator's log: "2 GET /proxy/*, 1 POST /tokens". Empty while there is no request. */
  summary(): string {
    const counts = new Map<string, number>();
    for (const name of this.#requests.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
    const sorted = [...counts].sort(([, one], [, other]) => other - one);
    const named = sorted.slice(0, MAX_NAMED).map(([name, count]) => `${count} ${name}`);
    return [...named, ...(sorted.length > MAX_NAMED ? ["others"] : [])].join(", ");
  }
}
