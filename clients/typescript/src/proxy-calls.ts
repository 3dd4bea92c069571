import { type Call, type CallOptions, callOf } from "./call.js";
import type { InvokeProxyInput, InvokeProxyResponse } from "./generated/messages.js";
import { Resource } from "./resource.js";
import type { JsonInput, JsonValue } from "./values.js";

/** What a destination returned through a proxy. */
export interface ProxyReply {
  readonly status: number;
  /** Names in lower case; of repeated ones the last. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed, where the destination says that it is JSON; otherwise its text. */
  readonly body: JsonValue;
}

export interface ProxyCallOptions extends CallOptions {
  /** For the destination. `headers` are for the vault. */
  readonly destinationHeaders?: Readonly<Record<string, string>> | undefined;
}

/** Calls through proxies with JSON. `key` is the proxy's own; `path` is below its destination and may have a query. */
export abstract class ProxyCalls extends Resource {
  abstract invoke(input: InvokeProxyInput, options?: CallOptions): Call<InvokeProxyResponse>;

  post(key: string, path: string, json?: JsonInput, options?: ProxyCallOptions): Call<ProxyReply> {
    return this.request("POST", key, path, json, options);
  }

  put(key: string, path: string, json?: JsonInput, options?: ProxyCallOptions): Call<ProxyReply> {
    return this.request("PUT", key, path, json, options);
  }

  patch(key: string, path: string, json?: JsonInput, options?: ProxyCallOptions): Call<ProxyReply> {
    return this.request("PATCH", key, path, json, options);
  }

  /** For GET and DELETE too: `get` and `delete` are for proxies themselves. */
  request(
    method: InvokeProxyInput["method"],
    key: string,
    path: string,
    json?: JsonInput,
    options: ProxyCallOptions = {},
  ): Call<ProxyReply> {
    const mark = `${path}?`.indexOf("?");
    const headers = Object.entries({ Accept: "application/json", ...options.destinationHeaders });
    const input: InvokeProxyInput = {
      proxyKey: key,
      method,
      path: path.slice(0, mark),
      query: path.slice(mark),
      headers: headers.map(([name, value]) => ({ name, value })),
      body:
        json === undefined
          ? undefined
          : { contentType: "application/json", data: new TextEncoder().encode(JSON.stringify(json)) },
    };
    const response = this.invoke(input, options).withResponse();
    return callOf(response.then((invoked) => ({ ...invoked, data: replyOf(invoked.data) })));
  }
}

function replyOf({ status, headers, body }: InvokeProxyResponse): ProxyReply {
  const byName = Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value]));
  const text = new TextDecoder().decode(body?.data);
  const isJson = /^application\/([\w.+-]+\+)?json\b/i.test(body?.contentType || (byName["content-type"] ?? ""));
  return { status, headers: byName, body: isJson && text ? parsed(text) : text };
}

/** The text as it is where a destination calls something JSON that is not. */
function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
