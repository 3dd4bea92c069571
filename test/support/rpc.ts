import type { DescService } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { inject } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";

/** Every protocol besides REST. */
export const RPC_PROTOCOLS = ["Connect JSON", "Connect binary", "gRPC", "gRPC-Web"] as const;
export type RpcProtocol = (typeof RPC_PROTOCOLS)[number];

export interface RpcOptions {
  readonly key?: string | undefined;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** TLS options, for an https address. */
  readonly tls?: { readonly ca: string };
}

/** A client as programs with the published libraries create it. Its connections end soon after the last call. */
export function rpcClient<Service extends DescService>(
  service: Service,
  protocol: RpcProtocol,
  options: RpcOptions = {},
): Client<Service> {
  return createClient(service, transportOf(protocol, options));
}

export function transportOf(protocol: RpcProtocol, { key, url, headers = {}, tls }: RpcOptions): Transport {
  const addHeaders: Interceptor = (next) => (request) => {
    if (key !== undefined) request.header.set("bt-api-key", key);
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request);
  };
  const shared = { baseUrl: url ?? inject("serverUrl"), interceptors: [addHeaders], idleConnectionTimeoutMs: 500 };
  // 64 levels of JSON are about 200 levels of messages; readers allow 100 by default.
  const binaryOptions = { recursionLimit: 300 };
  const nodeOptions = { ...tls };
  switch (protocol) {
    case "Connect JSON":
      return createConnectTransport({ ...shared, nodeOptions, httpVersion: "1.1", useBinaryFormat: false });
    case "Connect binary":
      return createConnectTransport({ ...shared, nodeOptions, httpVersion: "2", useBinaryFormat: true, binaryOptions });
    case "gRPC":
      return createGrpcTransport({ ...shared, nodeOptions, binaryOptions });
    case "gRPC-Web":
      return createGrpcWebTransport({ ...shared, nodeOptions, httpVersion: "1.1", binaryOptions });
  }
}

/** The error of a call as its caller sees it. */
export interface RpcFailure {
  readonly code: string;
  readonly message: string;
  /** Our code, from google.rpc.ErrorInfo. */
  readonly reason: string | undefined;
  /** The fields at fault, from google.rpc.BadRequest. */
  readonly fields: readonly string[];
  /** Seconds to wait, from google.rpc.RetryInfo. */
  readonly retryAfter: number | undefined;
  readonly metadata: Headers;
}

/** Waits for a call to fail. */
export async function failureOf(call: Promise<unknown>): Promise<RpcFailure> {
  const error = await call.then(
    () => {
      throw new Error("the call was served");
    },
    (reason: unknown) => ConnectError.from(reason),
  );
  return failureIn(error);
}

/** The caller's view of an error. */
export function failureIn(error: ConnectError): RpcFailure {
  const [retry] = error.findDetails(RetryInfoSchema);
  return {
    code: Code[error.code],
    message: error.rawMessage,
    reason: error.findDetails(ErrorInfoSchema)[0]?.reason,
    fields: error.findDetails(BadRequestSchema).flatMap((item) => item.fieldViolations.map(({ field }) => field)),
    retryAfter: retry?.retryDelay ? Number(retry.retryDelay.seconds) : undefined,
    metadata: error.metadata,
  };
}
