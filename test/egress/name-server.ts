import { createSocket } from "node:dgram";
import { promises as dns } from "node:dns";
import { once } from "node:events";
import ipaddr from "ipaddr.js";

export type DnsResponse =
  | {
      readonly kind: "records";
      readonly addresses: readonly string[];
      readonly alias?: string;
      /** The type of question that gets no response. */
      readonly silentTo?: "A" | "AAAA";
    }
  | { readonly kind: "nxdomain" }
  | { readonly kind: "servfail" }
  | { readonly kind: "silence" };

/** A DNS server on UDP that answers A and AAAA questions as the test says, and records its questions. */
export interface NameServer {
  /** Questions so far, such as "A api.example.com". */
  readonly questions: readonly string[];
  /** Sets the responses for a name: the first question of a type gets the first, the last one serves all that follow. */
  respond(name: string, ...responses: readonly DnsResponse[]): void;
  /** A resolver that asks only this server. */
  resolver(options?: { timeout?: number; tries?: number }): dns.Resolver;
  /** 127.0.0.1 and its port, as a resolver takes it. */
  readonly address: string;
  close(): Promise<void>;
}

const typeNames = new Map([
  [1, "A"],
  [28, "AAAA"],
]);
const cname = 5;

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket("udp4");
  const questions: string[] = [];
  const responses = new Map<string, readonly DnsResponse[]>();
  socket.on("message", (message, peer) => {
    const { name, type, end } = readQuestion(message);
    const asked = `${typeNames.get(type) ?? type} ${name}`;
    const round = questions.filter((question) => question === asked).length;
    questions.push(asked);
    const planned = responses.get(name) ?? [];
    const respond = planned[Math.min(round, planned.length - 1)] ?? { kind: "nxdomain" };
    if (respond.kind === "silence") return;
    if (respond.kind === "records" && respond.silentTo === typeNames.get(type)) return;
    socket.send(encode(message.subarray(0, end), type, respond), peer.port, peer.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const address = `127.0.0.1:${socket.address().port}`;
  return {
    ...{ questions, address },
    respond(name, ...given) {
      responses.set(name, given);
    },
    resolver(options) {
      const resolver = new dns.Resolver(options);
      resolver.setServers([address]);
      return resolver;
    },
    async close() {
      socket.close();
      await once(socket, "close");
    },
  };
}

/** Shorthand for a response of addresses; each type of question gets its own kind. */
export function records(...addresses: readonly string[]): DnsResponse {
  return { kind: "records", addresses };
}

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join(".").toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

/** RFC 1035 4: the header and question of the query, then the records. */
function encode(query: Buffer, type: number, respond: Exclude<DnsResponse, { kind: "silence" }>): Buffer {
  const rcode = { records: 0, servfail: 2, nxdomain: 3 }[respond.kind];
  const list = respond.kind === "records" ? encodeRecords(type, respond.addresses, respond.alias) : [];
  const header = Buffer.from(query);
  header.writeUInt16BE(0x8180 + rcode, 2);
  header.writeUInt16BE(list.length, 6);
  header.writeUInt32BE(0, 8);
  return Buffer.concat([header, ...list]);
}

function encodeRecords(type: number, addresses: readonly string[], alias: string | undefined): readonly Buffer[] {
  const kind = type === 1 ? "ipv4" : "ipv6";
  const wanted = addresses.map((address) => ipaddr.parse(address)).filter((address) => address.kind() === kind);
  const question = Buffer.from([0xc0, 0x0c]);
  if (alias === undefined) return wanted.map((address) => record(question, type, Buffer.from(address.toByteArray())));
  const owner = encodeName(alias);
  return [
    record(question, cname, owner),
    ...wanted.map((address) => record(owner, type, Buffer.from(address.toByteArray()))),
  ];
}

function record(owner: Buffer, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  // A time to live of zero: every look-up asks again.
  fixed.writeUInt32BE(0, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([owner, fixed, data]);
}

function encodeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}
