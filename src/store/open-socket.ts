import { once } from "node:events";
import { isIP, Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { TlsRefused } from "./wire/server-error.js";

/** Where a socket is to lead: a host and its port, or a unix socket. */
export type Place = { readonly host: string; readonly port: number } | { readonly path: string };

/** Whether a connection is encrypted, as `sslmode` says it, or options of Node's TLS. */
export type TlsMode = boolean | "require" | "allow" | "prefer" | "verify-full" | object;

/** Asks for TLS: the length, and the number that PostgreSQL knows the question by. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const YES = "S".charCodeAt(0);

/**
 * Opens a socket to a PostgreSQL server, encrypted where `tls` says so: all that goes before the first message.
 * @param negotiation "direct": TLS begins without asking.
 * @param signal gives the attempt up.
 * @throws {TlsRefused}, an error of the system or of TLS, or what the signal was aborted with.
 */
export async function openSocket(
  place: Place,
  tls: TlsMode,
  negotiation: "direct" | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  signal.throwIfAborted();
  const socket = new Socket({ noDelay: true });
  let current = socket;
  const giveUp = () => current.destroy(signal.reason);
  signal.addEventListener("abort", giveUp);
  try {
    // An error between two steps is told by the next one, and must not end the process.
    socket.on("error", () => {});
    socket.connect(place);
    await once(socket, "connect");
    if (!tls) return socket;
    if (negotiation !== "direct" && !(await agreesToTls(socket))) {
      if (tls === "prefer" || tls === "allow") return socket;
      throw new TlsRefused("the server does not speak TLS");
    }
    const encrypted = connectTls({ socket, ...tlsOptions(place, tls, negotiation) });
    current = encrypted;
    encrypted.on("error", () => {});
    await once(encrypted, "secureConnect");
    return encrypted;
  } catch (error) {
    current.destroy();
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** @throws {TlsRefused} where the server ends the connection in place of an answer. */
async function agreesToTls(socket: Socket): Promise<boolean> {
  socket.write(SSL_REQUEST);
  const ended = new AbortController();
  const refuse = () => ended.abort(new TlsRefused("the server ended the connection when it was asked for TLS"));
  socket.once("close", refuse);
  try {
    const [answer] = await once(socket, "data", { signal: ended.signal });
    // What stands behind the answer was sent by somebody between us and the server (CVE-2021-23222).
    if (answer.length !== 1) throw new TlsRefused("the server sent more than an answer when it was asked for TLS");
    return answer[0] === YES;
  } catch (error) {
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    socket.off("close", refuse);
  }
}

/** `require` encrypts and verifies nothing, as libpq has it. */
function tlsOptions(place: Place, tls: TlsMode, negotiation: "direct" | undefined): ConnectionOptions {
  return {
    ...("host" in place && !isIP(place.host) ? { servername: place.host } : {}),
    ...(negotiation === "direct" ? { ALPNProtocols: ["postgresql"] } : {}),
    ...(tls === "require" || tls === "allow" || tls === "prefer" ? { rejectUnauthorized: false } : {}),
    ...(typeof tls === "object" ? tls : {}),
  };
}
