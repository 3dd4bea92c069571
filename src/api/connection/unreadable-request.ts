import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { Fault } from "../../base/fault.js";
import { newUuid } from "../../base/ids.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { PROBLEM_TYPE, problemDetails } from "../faults/problem.js";
import type { ConnectionLimits } from "./connection-limits.js";
import { headersTooLarge } from "./excess-headers.js";

/** Milliseconds in which a client that is still sending can read the response before its connection is reset. */
const LINGER_MS = 1_000;

/** An error of Node's HTTP parser, or of its time limits. */
interface ParserError extends Error {
  readonly code?: string;
}

/**
 * Answers HTTP/1.1 requests that Node cannot read with problem details, and closes their connections. Node's own
 * responses have no body.
 */
export class UnreadableRequests {
  readonly #limits: ConnectionLimits;
  /** Connections that were answered. Node reports every further byte that they send. */
  readonly #ended = new WeakSet<Duplex>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** @param hasBegunResponse whether part of a response was sent: then no other can follow. */
  refuse(error: ParserError, socket: Duplex, hasBegunResponse: boolean): void {
    if (this.#ended.has(socket)) return;
    this.#ended.add(socket);
    if (error.code === "ECONNRESET" || !socket.writable || hasBegunResponse) {
      socket.destroy();
      return;
    }
    socket.end(refusalBytes(parserFault(error, this.#limits)));
    const reset = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(reset));
  }
}

function parserFault({ code }: ParserError, limits: ConnectionLimits): Fault {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return headersTooLarge(limits);
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new Fault("body_too_large", "The chunk extensions of the body are too large.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Fault("request_timeout", "The request did not arrive in time.");
    default:
      return new Fault("malformed_body", "The request is not valid HTTP/1.1.");
  }
}

function refusalBytes(fault: Fault): Buffer {
  const traceId = newUuid();
  const body = Buffer.from(JSON.stringify(problemDetails(fault, traceId)));
  const { http } = FAULT_TABLE[fault.code];
  const head = [
    `HTTP/1.1 ${http} ${STATUS_CODES[http] ?? ""}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${body.length}`,
    `bt-trace-id: ${traceId}`,
    "cache-control: no-store",
    "x-content-type-options: nosniff",
    "connection: close",
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
}
