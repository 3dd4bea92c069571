import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Sensitive } from "../crypto/sensitive.js";
import type { FileSinkOptions } from "../sinks/file-sink.js";
import { SINKS, type SinkName } from "../sinks/sink.js";
import type { SyslogSinkOptions } from "../sinks/syslog-sink.js";
import { ConfigError } from "./config-error.js";
import { type Environment, readOptional, readSecret } from "./setting-values.js";

/** The size from which a file is renamed, and a new one begun. */
const FILE_BYTES = 100 * 1024 * 1024;

export interface LogSinksConfig {
  /** `output` is standard output. */
  readonly file: FileSinkOptions | "output" | undefined;
  readonly syslog: SyslogSinkOptions | undefined;
  readonly otlp: { readonly url: string; readonly headers: ReadonlyMap<string, Sensitive<string>> } | undefined;
}

export function configuredSinks(config: LogSinksConfig): readonly SinkName[] {
  return SINKS.filter((name) => config[name] !== undefined);
}

/** @throws {ConfigError} */
export function readLogSinks(environment: Environment): LogSinksConfig {
  const file = readOptional(environment, "AUDIT_FILE");
  return {
    file: file === undefined ? undefined : file === "-" ? "output" : { path: resolve(file), bytes: FILE_BYTES },
    syslog: readSyslog(readOptional(environment, "AUDIT_SYSLOG"), readOptional(environment, "AUDIT_SYSLOG_CA_FILE")),
    otlp: readOtlp(
      readOptional(environment, "AUDIT_OTLP_URL"),
      readSecret(environment, "CLOAKROOM_AUDIT_OTLP_HEADERS"),
    ),
  };
}

function readSyslog(text: string | undefined, caFile: string | undefined): SyslogSinkOptions | undefined {
  const found = /^(?<scheme>tcp|tls):\/\/(?:\[(?<ipv6>[0-9a-f:]+)\]|(?<name>[^\s/:@[\]]+)):(?<port>\d{1,5})$/.exec(
    text ?? "",
  );
  const port = Number(found?.groups?.port);
  const isTls = found?.groups?.scheme === "tls";
  if (text !== undefined && (!found || port < 1 || port > 65_535)) {
    const expected = "an address such as tls://logs.example.com:6514 or tcp://10.0.0.5:601";
    throw new ConfigError(`CLOAKROOM_AUDIT_SYSLOG must be ${expected}; it is "${text}".`);
  }
  if (caFile !== undefined && !isTls) {
    throw new ConfigError("CLOAKROOM_AUDIT_SYSLOG_CA_FILE needs CLOAKROOM_AUDIT_SYSLOG with a tls:// address.");
  }
  if (!found) return undefined;
  const { ipv6, name = "" } = found.groups ?? {};
  return { host: ipv6 ?? name, port, isTls, ca: caFile === undefined ? undefined : readCa(caFile) };
}

function readCa(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new ConfigError(`CLOAKROOM_AUDIT_SYSLOG_CA_FILE cannot be read: ${file}.`);
  }
}

function readOtlp(url: string | undefined, headers: Sensitive<string> | undefined): LogSinksConfig["otlp"] {
  if (url === undefined) {
    if (headers) throw new ConfigError("CLOAKROOM_AUDIT_OTLP_HEADERS needs CLOAKROOM_AUDIT_OTLP_URL.");
    return undefined;
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isHttp = parsed?.protocol === "http:" || parsed?.protocol === "https:";
  if (!parsed || !isHttp || parsed.username !== "" || parsed.password !== "" || parsed.hash !== "") {
    const expected = "an address such as http://collector.example.com:4318/v1/logs, without user and password";
    throw new ConfigError(`CLOAKROOM_AUDIT_OTLP_URL must be ${expected}.`);
  }
  return { url, headers: readHeaders(headers) };
}

/** The message does not repeat the value, which may contain a credential. */
function readHeaders(text: Sensitive<string> | undefined): ReadonlyMap<string, Sensitive<string>> {
  const entries = (text?.reveal() ?? "").split(",").filter((entry) => entry.trim() !== "");
  return new Map(
    entries.map((entry): [string, Sensitive<string>] => {
      const [, name, value] =
        /^\s*([A-Za-z0-9-]+)\s*=\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\s*$/.exec(entry) ?? [];
      if (name !== undefined && value !== undefined) return [name, new Sensitive(value)];
      throw new ConfigError(
        "CLOAKROOM_AUDIT_OTLP_HEADERS must be entries such as authorization=Bearer abc, separated by commas.",
      );
    }),
  );
}
