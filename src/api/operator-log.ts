import { type DestinationStream, type Logger, pino } from "pino";

/** What a line of the operator's log may hold. Never a URL, query, header, body, value or driver text. */
export interface LogFields {
  readonly trace_id?: string;
  readonly tenant_id?: string;
  readonly application_id?: string;
  readonly rpc?: string;
  readonly route?: string;
  readonly status?: number;
  readonly code?: string;
  readonly duration_ms?: number;
  /** Our own fixed words on what happened. */
  readonly reason?: string;
  /** Why something failed: fixed words, a code, or the class of an error and its place. See `log-cause.ts`. */
  readonly cause?: string;
  /** The background job that failed. */
  readonly job?: string;
  /** How often in a row it has failed. */
  readonly attempt?: number;
  /** When it is tried again, ISO 8601. */
  readonly next_at?: string;
  /** The destination of an outgoing call that failed. */
  readonly host?: string;
  readonly port?: number;
}

export interface OperatorLog {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

const FIELDS = [
  "trace_id",
  "tenant_id",
  "application_id",
  "rpc",
  "route",
  "status",
  "code",
  "duration_ms",
  "reason",
  "cause",
  "job",
  "attempt",
  "next_at",
  "host",
  "port",
] as const;

/** JSON lines on standard output, or on `stream`. Fields that are not listed are dropped, whatever the caller passes. */
export function createOperatorLog(level: string, stream: DestinationStream = linesOfOneTurn()): OperatorLog {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const logger: Logger = pino(options, stream);
  const write = (line: "debug" | "info" | "warn" | "error") => (fields: LogFields, message: string) => {
    if (logger.isLevelEnabled(line)) logger[line](onlyListed(fields), message);
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/** Bytes that are kept while they cannot be written. What comes beyond is dropped. */
const MOST_UNWRITTEN = 1024 * 1024;

/**
 * Standard output, where the lines of one turn of the event loop are written at once: a write of its own for each line took
 * 9 % of a server's time under load.
 */
function linesOfOneTurn(): DestinationStream {
  // Where nobody reads any more (EPIPE) it drops what it is given.
  const output = pino.destination({ dest: 1, sync: true, maxLength: MOST_UNWRITTEN });
  // A log that cannot be written (its disk is full) must not end the server. What was not written is tried again with the
  // next lines.
  output.on("error", () => {});
  output.on("drop", () => output.write(""));
  let lines = "";
  const write = () => {
    const text = lines;
    lines = "";
    if (text !== "") output.write(text);
  };
  process.once("exit", write);
  return {
    write(line) {
      if (lines === "") setImmediate(write);
      lines += line;
    },
  };
}

function onlyListed(fields: LogFields): LogFields {
  const listed: Record<string, string | number> = {};
  for (const name of FIELDS) {
    const value = fields[name];
    if (value !== undefined) listed[name] = value;
  }
  return listed;
}
