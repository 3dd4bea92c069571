import type { OperatorLog } from "../api/observation/operator-log.js";
import type { LogSinksConfig } from "../settings/log-sinks.js";
import { FileSink } from "../sinks/file-sink.js";
import { OtlpSink } from "../sinks/otlp-sink.js";
import { OutputSink } from "../sinks/output-sink.js";
import type { LogSink } from "../sinks/sink.js";
import { SyslogSink } from "../sinks/syslog-sink.js";
import type { Meters } from "../telemetry/meters.js";

/** The receivers of tenants' logs. They connect at their first record. */
export function createLogSinks(
  { file, syslog, otlp }: LogSinksConfig,
  log: OperatorLog,
  meters: Meters,
): readonly LogSink[] {
  const onRejected = (id: string) => {
    meters.auditIncident("sink_failed");
    log.error(
      { job: "log sink otlp", reason: id },
      "OTLP receiver rejected a log row permanently; it will not be resent",
    );
  };
  return [
    ...(file === undefined ? [] : [file === "output" ? new OutputSink(process.stdout) : new FileSink(file)]),
    ...(syslog ? [new SyslogSink(syslog)] : []),
    ...(otlp ? [new OtlpSink({ ...otlp, onRejected })] : []),
  ];
}
