import type { Json, JsonObject } from "../../base/json.js";
import { MAX_NAMES, MAX_VALUES } from "../../base/json-structure.js";
import { type BtMethod, btMethods, type HeaderList, type HostBody, type HostFetchRequest } from "../host-calls.js";
import { list, MAX_LEVELS, object, oneOf, parseWireJson, text, whole } from "./shape.js";

export type HostCall =
  | { readonly to: "bt"; readonly method: BtMethod; readonly args: Json }
  | { readonly to: "fetch"; readonly request: HostFetchRequest };

const MAX_HEADERS = 500;

/** @throws ProtocolError for an invalid host call. The limit on the whole payload bounds all sizes. */
export function readHostCall(payload: Buffer): HostCall {
  const call = object(parseWireJson(payload, { depth: MAX_LEVELS, values: MAX_VALUES, names: MAX_NAMES }));
  if (oneOf(call.to, ["bt", "fetch"]) === "bt") {
    return { to: "bt", method: oneOf(call.method, btMethods), args: call.args ?? null };
  }
  return { to: "fetch", request: readFetch(object(call.request), payload.length) };
}

function readFetch(request: JsonObject, most: number): HostFetchRequest {
  return {
    method: text(request.method, 100),
    url: text(request.url, most),
    headers: readHeaders(request.headers, most),
    body: request.body === undefined ? undefined : readBody(object(request.body), most),
    timeoutMs: request.timeoutMs === undefined ? undefined : whole(request.timeoutMs, 0, 2 ** 31 - 1),
  };
}

function readHeaders(value: Json | undefined, most: number): HeaderList {
  return list(value, MAX_HEADERS).map((pair) => {
    const [name, content] = list(pair, 2);
    return [text(name, most), text(content, most)] as const;
  });
}

function readBody(body: JsonObject, most: number): HostBody {
  return body.text === undefined ? { base64: text(body.base64, most) } : { text: text(body.text, most) };
}

export type HostReply =
  | { readonly ok: Json }
  /** An error of the API, for calls of `bt`. */
  | { readonly refused: { readonly status: number; readonly body: Json } }
  | { readonly failed: { readonly code: string; readonly message: string } };
