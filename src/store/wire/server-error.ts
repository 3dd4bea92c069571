export class ConnectionLost extends Error {
  override readonly name: string = "ConnectionLost";
}

/** No connection was established in time. */
export class ConnectTimeout extends ConnectionLost {
  override readonly name = "ConnectTimeout";
  readonly code = "CONNECT_TIMEOUT";
}

/** The server does not speak TLS, which the address requires. */
export class TlsRefused extends ConnectionLost {
  override readonly name = "TlsRefused";
  readonly code = "TLS_REFUSED";
}

/** A commit whose wait for a synchronous standby was cancelled, by an administrator or by a shutdown. */
export class UnconfirmedCommit extends Error {
  override readonly name = "UnconfirmedCommit";

  constructor() {
    super(
      "The change was stored, but no synchronous standby of the database has confirmed it, and a failover may lose it. Once a standby streams again, check whether the change is there.",
    );
  }
}

/** An error that PostgreSQL reported. Its message may quote values, so only the code is kept. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  /** The SQLSTATE. */
  readonly code: string;
  /** Whether it ends the session. */
  readonly isFatal: boolean;

  constructor(code: string, isFatal = false) {
    super(`database error ${code}`);
    this.code = code;
    this.isFatal = isFatal;
  }
}

/** A row that does not match what its statement reads. The details may quote the row, and are not kept. */
export class UnreadableRow extends Error {
  override readonly name = "UnreadableRow";
  readonly code = "unreadable_row";
}

const CODE = "C".charCodeAt(0);
const SEVERITY = "V".charCodeAt(0);

export function readServerError(bytes: Buffer, start: number, end: number): DatabaseError {
  const { code = "XX000", severity = "ERROR" } = readFields(bytes, start, end);
  return new DatabaseError(code, severity !== "ERROR");
}

/** Whether a NoticeResponse is a warning. */
export function isWarning(bytes: Buffer, start: number, end: number): boolean {
  return readFields(bytes, start, end).severity === "WARNING";
}

interface ResponseFields {
  readonly code?: string | undefined;
  readonly severity?: string | undefined;
}

/** Reads the fields of an ErrorResponse or NoticeResponse: a byte and a text each, until a zero byte. */
function readFields(bytes: Buffer, start: number, end: number): ResponseFields {
  let code: string | undefined;
  let severity: string | undefined;
  for (let at = start; at < end && bytes[at] !== 0; ) {
    const stop = bytes.indexOf(0, at + 1);
    if (stop < 0 || stop >= end) break;
    if (bytes[at] === CODE) code = bytes.toString("latin1", at + 1, stop);
    else if (bytes[at] === SEVERITY) severity = bytes.toString("latin1", at + 1, stop);
    at = stop + 1;
  }
  return { code, severity };
}
