import { type DestinationStream, type Logger, pino } from "pino";

/** Fields of a line in the operator's log. Never a URL, query, header, body, value or driver text. */
export interface LogFields {
  readonly trace_id?: string;
  readonly tenant_id?: string;
  readonly application_id?: string;
  readonly user_id?: string;
  readonly rpc?: string;
  readonly route?: string;
  readonly status?: number;
  readonly code?: string;
  readonly duration_ms?: number;
  /** Fixed words on what happened. */
  readonly reason?: string;
  /** The cause of a failure: fixed words, a code, or the class of an error and its place. See `log-cause.ts`. */
  readonly cause?: string;
  readonly job?: string;
  readonly attempt?: number;
  /** Time of the next attempt, ISO 8601. */
  readonly next_at?: string;
  /** The destination of a failed outgoing call. */
  readonly host?: string;
  readonly port?: number;
  /** Number of the worker process that a line of the primary process is about. */
  readonly worker?: number;
  readonly pid?: number;
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
  "user_id",
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
  "worker",
  "pid",
] as const;

export type LogLines = DestinationStream;

/**
 * JSON lines. Fields that are not listed are dropped.
 * @param process the number of this process, if the server has several: every line then has it.
 * @param lines absent: standard output.
 */
export function createOperatorLog(
  level: string,
  process?: number,
  lines: LogLines = linesOfOneTurn(process === undefined ? undefined : MAX_SHARED_WRITE),
): OperatorLog {
  const base = process === undefined ? null : { process };
  const options = { level, base, timestamp: pino.stdTimeFunctions.isoTime };
  const logger: Logger = pino(options, lines);
  const write = (line: "debug" | "info" | "warn" | "error") => (fields: LogFields, message: string) => {
    if (logger.isLevelEnabled(line)) logger[line](onlyListed(fields), message);
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/**
 * Largest write if several processes share one pipe. Linux writes up to 4,096 bytes atomically (PIPE_BUF): a longer
 * write can have lines of another process within it.
 */
const MAX_SHARED_WRITE = 4_096;

/** Most unwritten bytes that are kept. Further ones are dropped. */
const MAX_UNWRITTEN = 1024 * 1024;

/**
 * Standard output, written once per turn of the event loop: one write per line took 9 % of a server's time under load.
 * @param maxAtOnce bytes of one write. Absent: no limit.
 */
function linesOfOneTurn(maxAtOnce?: number): DestinationStream {
  // Drops its input once the reader is gone (EPIPE).
  const output = pino.destination({
    dest: 1,
    sync: true,
    maxLength: MAX_UNWRITTEN,
    ...(maxAtOnce ? { maxWrite: maxAtOnce } : {}),
  });
  // A log that cannot be written, for example on a full disk, must not end the server. The next lines retry unwritten
  // ones.
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
      if (maxAtOnce && lines.length + line.length > maxAtOnce) write();
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
