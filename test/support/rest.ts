/** A REST response with its status and headers. */
export interface RestResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed if it is JSON, otherwise the text. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape, also wrong ones
  readonly body: any;
}

export interface RestRequest {
  readonly key?: string | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged, in place of `body`. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
}

export type RestClient = (method: string, path: string, request?: RestRequest) => Promise<RestResponse>;

export function restClient(url: string, key?: string): RestClient {
  return async (method, path, request = {}) => {
    const apiKey = "key" in request ? request.key : key;
    const hasBody = request.body !== undefined || request.raw !== undefined;
    const headers = new Headers();
    if (apiKey) headers.set("BT-API-KEY", apiKey);
    if (hasBody) headers.set("Content-Type", "application/json");
    for (const [name, value] of Object.entries(request.headers ?? {})) headers.set(name, value);
    const response = await fetch(`${url}${path}`, {
      method,
      redirect: "manual",
      headers,
      ...(hasBody ? { body: request.raw ?? JSON.stringify(request.body) } : {}),
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : text };
  };
}
