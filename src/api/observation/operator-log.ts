import { type DestinationStream, pino } from "pino";

/** Fields of a line in the operator's log. Never a URL, query, header, body, value or driver text. */
export interface LogFields {
  readonly trace_id?: string | undefined;
  readonly tenant_id?: string | undefined;
  readonly application_id?: string | undefined;
  readonly user_id?: string | undefined;
  readonly rpc?: string | undefined;
  readonly route?: string | undefined;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly duration_ms?: number | undefined;
  /** Fixed words on what happened. */
  readonly reason?: string | undefined;
  /** The cause of a failure: fixed words, a code, or the class of an error and its place. See `log-cause.ts`. */
  readonly cause?: string | undefined;
  readonly job?: string | undefined;
  readonly attempt?: number | undefined;
  /** Time of the next attempt, ISO 8601. */
  readonly next_at?: string | undefined;
  /** The destination of a failed outgoing call. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** Number of the worker process that a line of the primary process is about. */
  readonly worker?: number | undefined;
  readonly pid?: number | undefined;
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

const MEMBERS = FIELDS.map((name) => ({ name, prefix: `,"${name}":` }));

export type LogLines = DestinationStream;

/**
 * JSON lines. Fields that are not listed are dropped.
 * @param process the number of this process, if the server has several: every line then has it.
 * @param lines absent: standard output.
 */
export function createOperatorLog(
  level: keyof typeof LEVELS,
  process?: number,
  lines: LogLines = linesOfOneTurn(process === undefined ? undefined : MAX_SHARED_WRITE),
): OperatorLog {
  const base = process === undefined ? "" : `,"process":${process}`;
  const least = LEVELS[level];
  const write = (line: "debug" | "info" | "warn" | "error") => {
    const number = LEVELS[line];
    return (fields: LogFields, message: string) => {
      if (number < least) return;
      const time = new Date().toISOString();
      lines.write(`{"level":${number},"time":"${time}"${base}${listed(fields)},"msg":${JSON.stringify(message)}}\n`);
    };
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/** The numbers of levels in lines, as pino and Bunyan write them. */
const LEVELS = { debug: 20, info: 30, warn: 40, error: 50, silent: Number.POSITIVE_INFINITY } as const;

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

/** The members of the fields that are listed, each behind a comma. */
function listed(fields: LogFields): string {
  let members = "";
  for (const { name, prefix } of MEMBERS) {
    const value = fields[name];
    if (value === undefined) continue;
    members += prefix;
    members += Number.isFinite(value) ? value : JSON.stringify(value);
  }
  return members;
}
