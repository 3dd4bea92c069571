import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { WholeResponse } from "../../connection/exchange.js";

export interface UnaryWire {
  readonly timeoutHeader: string;
  /** Milliseconds; undefined for an invalid time. */
  timeoutOf(header: string): number | undefined;
  /** Size limit of a body whose message may have `messageBytes`. */
  maxBodyBytes(messageBytes: number): number;
  /** Largest message in a body of `bodyBytes`. */
  maxMessageBytes(bodyBytes: number): number;
  /** @throws {Fault} for a message that cannot be read; {ConnectError} for errors that the protocol itself defines. */
  read(type: DescMessage, body: Buffer, maxBytes: number): Promise<Message>;
  /** Returns a promise if it works on a large message in several turns of the event loop. */
  respond(response: WholeResponse, type: DescMessage, message: Message): void | Promise<void>;
  refuse(response: WholeResponse, error: ConnectError): void;
}
