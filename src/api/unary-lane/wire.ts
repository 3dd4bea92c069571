import type { ServerResponse } from "node:http";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";

/** How one protocol writes a call with one message each way. */
export interface UnaryWire {
  /** The header in which the caller says how long it waits. */
  readonly timeoutHeader: string;
  /** Milliseconds; undefined for a text that is no time. */
  timeoutOf(header: string): number | undefined;
  /** Bytes that the body of a call may have, where its message may have so many. */
  mostBodyBytes(messageBytes: number): number;
  /** Bytes that a message may have in a body of so many. */
  mostMessageBytes(bodyBytes: number): number;
  /** @throws {Fault} of a message that cannot be read; {ConnectError} for what the protocol itself wants told its way. */
  read(type: DescMessage, body: Buffer, mostBytes: number): Message;
  answer(response: ServerResponse, type: DescMessage, message: Message): void;
  refuse(response: ServerResponse, error: ConnectError): void;
}
