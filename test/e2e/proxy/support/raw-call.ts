import { connect } from "node:net";
import { inject } from "vitest";

export interface RawResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** As it was on the wire, chunks included. */
  readonly body: Buffer;
  header(name: string): string | undefined;
}

/**
 * Sends a request byte for byte, which no client library does, and reads until the connection closes. The lines are
 * joined with CRLF; `Host` and `Connection: close` are added.
 */
export async function rawCall(lines: readonly string[], body: Buffer | string = "", url = inject("serverUrl")) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  // A write to a connection that the server has closed: its earlier response is still read.
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const [first = "", ...rest] = lines;
  const head = [first, "Host: vault.example", "Connection: close", ...rest].join("\r\n");
  socket.write(Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "latin1"), Buffer.from(body)]));
  await closed;
  return readResponse(Buffer.concat(chunks));
}

function readResponse(bytes: Buffer): RawResponse {
  const end = bytes.indexOf("\r\n\r\n");
  const [line = "", ...lines] = bytes.toString("latin1", 0, end < 0 ? 0 : end).split("\r\n");
  const [, status, reason = ""] = /^HTTP\/1\.1 (\d{3}) ?(.*)$/.exec(line) ?? [];
  const headers = lines.map((text) => {
    const colon = text.indexOf(":");
    return [text.slice(0, colon), text.slice(colon + 1).trim()] as const;
  });
  return {
    status: Number(status ?? 0),
    ...{ reason, headers },
    body: bytes.subarray(end + 4),
    header: (wanted) => headers.find(([name]) => name.toLowerCase() === wanted.toLowerCase())?.[1],
  };
}
