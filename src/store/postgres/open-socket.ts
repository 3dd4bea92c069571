import { once } from "node:events";
import { isIP, Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { TlsRefused } from "../wire/server-error.js";

export type SocketTarget = { readonly host: string; readonly port: number } | { readonly path: string };

/** The encryption of a connection, as a value of `sslmode` or as options of Node's TLS. */
export type TlsMode = boolean | "require" | "allow" | "prefer" | "verify-ca" | "verify-full" | object;

/** SSLRequest: the length, and PostgreSQL's code for this message. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const YES = "S".charCodeAt(0);

/**
 * Opens a socket to a PostgreSQL server, up to the first message, and encrypts it as `tls` says.
 * @param negotiation "direct": TLS begins without an SSLRequest.
 * @param signal cancels the attempt.
 * @throws {TlsRefused}, a system or TLS error, or the signal's reason.
 */
export async function openSocket(
  target: SocketTarget,
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
    // The next step reports an error between two steps, which must not end the process.
    socket.on("error", () => {});
    socket.connect(target);
    await once(socket, "connect");
    if (!tls) return socket;
    if (negotiation !== "direct" && !(await agreesToTls(socket))) {
      if (tls === "prefer" || tls === "allow") return socket;
      throw new TlsRefused("the server does not speak TLS");
    }
    const encrypted = connectTls({ socket, ...tlsOptions(target, tls, negotiation) });
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

/** @throws {TlsRefused} if the server closes the connection instead of responding. */
async function agreesToTls(socket: Socket): Promise<boolean> {
  socket.write(SSL_REQUEST);
  const ended = new AbortController();
  const refuse = () => ended.abort(new TlsRefused("the server ended the connection when it was asked for TLS"));
  socket.once("close", refuse);
  try {
    const [reply] = await once(socket, "data", { signal: ended.signal });
    // Bytes after the response come from an attacker between us and the server (CVE-2021-23222).
    if (reply.length !== 1) throw new TlsRefused("the server sent more than a response when it was asked for TLS");
    return reply[0] === YES;
  } catch (error) {
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    socket.off("close", refuse);
  }
}

/** `require` encrypts without verification, as in libpq. */
function tlsOptions(target: SocketTarget, tls: TlsMode, negotiation: "direct" | undefined): ConnectionOptions {
  return {
    ...("host" in target && !isIP(target.host) ? { servername: target.host } : {}),
    ...(negotiation === "direct" ? { ALPNProtocols: ["postgresql"] } : {}),
    ...(tls === "require" || tls === "allow" || tls === "prefer" ? { rejectUnauthorized: false } : {}),
    ...(typeof tls === "object" ? tls : {}),
  };
}
