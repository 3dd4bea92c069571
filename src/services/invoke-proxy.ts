import type { ProxyService } from "../../gen/cloakroom/v1/proxies_pb.js";
import { readResponseBody } from "../proxy/buffered-body.js";
import type { ProxyCall, ProxyResponse, ProxyTarget } from "../proxy/call.js";
import { DestinationFailed } from "../proxy/destination-failed.js";
import { exchangeFailure } from "../proxy/exchange-failure.js";
import type { Handler } from "./call.js";

type Invoke = Handler<typeof ProxyService.method.invokeProxy.input, typeof ProxyService.method.invokeProxy.output>;

/** The largest response in a single message, in bytes. */
const MAX_RESPONSE = 5 * 1024 * 1024;

/** A proxied request as an RPC. Request and response are single messages and cannot stream. */
export async function invokeOverRpc(
  invoke: (call: ProxyCall) => Promise<ProxyResponse>,
  request: Parameters<Invoke>[0],
  call: Parameters<Invoke>[1],
): ReturnType<Invoke> {
  const { apiKey, signal, memory, audit } = call;
  const type = request.body?.contentType;
  const headers = request.headers.map(({ name, value }) => [name, value] as const);
  const isTyped = headers.some(([name]) => name.toLowerCase() === "content-type");
  try {
    const response = await invoke({
      method: request.method,
      path: request.path,
      query: request.query === "" || request.query.startsWith("?") ? request.query : `?${request.query}`,
      headers: type && !isTyped ? [...headers, ["Content-Type", type]] : headers,
      body: Buffer.from(request.body?.data ?? new Uint8Array()),
      target: invokedTarget(request.target),
      apiKey,
      signal,
      memory,
      audit,
    });
    const body = await readResponseBody(response, MAX_RESPONSE, memory);
    const contentType = response.headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
    return {
      status: response.status,
      ...(response.destinationStatus > 0 ? { destinationStatus: response.destinationStatus } : {}),
      headers: response.headers.map(([name, value]) => ({ name, value })),
      body: { contentType, data: Uint8Array.from(body) },
    };
  } catch (error) {
    throw exchangeFailure(error instanceof DestinationFailed ? error.reason : error, signal);
  }
}

function invokedTarget({ case: kind, value }: Parameters<Invoke>[0]["target"]): ProxyTarget | undefined {
  if (kind === "proxyKey") return { kind: "configured", key: value };
  return kind === "proxyUrl" ? { kind: "ephemeral", url: value } : undefined;
}
