import type { Json } from "../base/json.js";
import {
  type BtMethod,
  BtRefusal,
  type HostCalls,
  HostFailure,
  type HostFetchRequest,
  type HostFetchResponse,
} from "../sandbox/host-calls.js";

export interface TestStubs {
  /** Requests without a prepared response go to their destination. */
  readonly network: boolean;
  readonly fetch: readonly TestFetch[];
  readonly bt: readonly TestBt[];
  readonly hasBt: boolean;
}

export interface TestFetch {
  /** Undefined matches any method. */
  readonly method: string | undefined;
  /** The whole address, or a prefix followed by `*`. */
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

export interface TestBt {
  readonly method: string;
  readonly status: number;
  readonly body: Json;
}

export interface TestedCall {
  readonly to: "fetch" | "bt";
  readonly method: string;
  readonly url: string | undefined;
  readonly answeredBy: "test" | "network" | "nothing";
  readonly status: number | undefined;
}

const MAX_CALLS = 100;

export class StubbedHostCalls {
  readonly calls: TestedCall[] = [];
  readonly #outside: TestStubs;
  readonly #network: HostCalls["fetch"];
  readonly #askedOfBt = new Map<string, number>();

  /** @param network makes real requests, under the rules for all tenants' code. */
  constructor(outside: TestStubs, network: HostCalls["fetch"]) {
    this.#outside = outside;
    this.#network = network;
  }

  get hostCalls(): HostCalls {
    const hasBt = this.#outside.hasBt || this.#outside.bt.length > 0;
    return {
      ...(hasBt ? { bt: (method: BtMethod) => this.#bt(method) } : {}),
      fetch: (request, signal) => this.#fetch(request, signal),
    };
  }

  async #bt(method: BtMethod): Promise<Json> {
    const prepared = this.#outside.bt.filter((call) => call.method === method);
    const asked = this.#askedOfBt.get(method) ?? 0;
    this.#askedOfBt.set(method, asked + 1);
    const response = prepared[Math.min(asked, prepared.length - 1)];
    this.#note({
      to: "bt",
      method,
      url: undefined,
      answeredBy: response ? "test" : "nothing",
      status: response?.status,
    });
    if (!response)
      throw new HostFailure("ENOANSWER", `This test run has no response to bt.${method}: give one in outside.bt.`);
    if (response.status >= 400) throw new BtRefusal(response.status, response.body);
    return response.body;
  }

  async #fetch(request: HostFetchRequest, signal: AbortSignal): Promise<HostFetchResponse> {
    const { method, url } = request;
    const prepared = this.#outside.fetch.find((candidate) => matches(candidate, request));
    if (prepared) {
      this.#note({ to: "fetch", method, url, answeredBy: "test", status: prepared.status });
      return stubbedResponse(prepared);
    }
    if (!this.#outside.network) {
      this.#note({ to: "fetch", method, url, answeredBy: "nothing", status: undefined });
      throw new HostFailure(
        "ENOANSWER",
        "This test run has no response to this request: give one in outside.fetch, or set outside.network.",
      );
    }
    const note = (status?: number) => this.#note({ to: "fetch", method, url, answeredBy: "network", status });
    try {
      const response = await this.#network(request, signal);
      note(response.status);
      return response;
    } catch (error) {
      note();
      throw error;
    }
  }

  #note(call: TestedCall): void {
    if (this.calls.length < MAX_CALLS) this.calls.push(call);
  }
}

function matches(prepared: TestFetch, { method, url }: HostFetchRequest): boolean {
  if (prepared.method !== undefined && prepared.method.toUpperCase() !== method.toUpperCase()) return false;
  return prepared.url.endsWith("*") ? url.startsWith(prepared.url.slice(0, -1)) : sameAddress(prepared.url, url);
}

/** Clients add a slash to an address without a path. */
function sameAddress(given: string, asked: string): boolean {
  return given === asked || (URL.canParse(given) && URL.canParse(asked) && new URL(given).href === new URL(asked).href);
}

function stubbedResponse({ status, headers, body }: TestFetch): HostFetchResponse {
  const isText = typeof body === "string";
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  const type: [string, string][] = isText || hasType ? [] : [["content-type", "application/json"]];
  return {
    status,
    statusText: "",
    headers: [...Object.entries(headers), ...type],
    body: { text: isText ? body : JSON.stringify(body) },
  };
}
