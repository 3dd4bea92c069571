import type { SinkRecord } from "./sink.js";

/** Facility 13, log audit (RFC 5424, section 6.2.1), with severities 6, 4 and 3. */
const PRIORITIES = { allowed: 110, denied: 108, failed: 107 } as const;
/** 32473 is reserved for documentation (RFC 5612): Cloakroom has no number of its own yet. */
const SD_ID = "cloakroom@32473";
/** What every receiver over TLS must take (RFC 5425, section 4.3.1). */
const MAX_BYTES = 2_048;
const MAX_NAME = 32;

/**
 * A record in the format of RFC 5424, framed by its length in bytes (RFC 6587, section 3.4.1). Beyond 2,048 bytes it
 * cuts the longest value, and names that in `cut`.
 */
export function syslogFrame(record: SinkRecord, host: string): Buffer {
  const fields = Object.entries(record.fields).flatMap(([name, value]): [string, string][] =>
    value === null ? [] : [[name.slice(0, MAX_NAME), String(value)]],
  );
  let message = syslogMessage(record, host, fields);
  if (message.length > MAX_BYTES) {
    const longest = fields.reduce((one, other) => (other[1].length > one[1].length ? other : one));
    fields.push(["cut", longest[0]]);
    while (message.length > MAX_BYTES && longest[1] !== "") {
      // Four bytes for a character at most, and two for an escaped one.
      const excess = Math.max(1, Math.ceil((message.length - MAX_BYTES) / 4));
      longest[1] = [...longest[1]].slice(0, -excess).join("");
      message = syslogMessage(record, host, fields);
    }
  }
  return Buffer.concat([Buffer.from(`${message.length} `), message]);
}

function syslogMessage(record: SinkRecord, host: string, fields: readonly (readonly [string, string])[]): Buffer {
  const head = `<${PRIORITIES[record.outcome]}>1 ${record.time} ${host} cloakroom ${process.pid} ${record.name.slice(0, 32)}`;
  const data = fields.map(([name, value]) => ` ${name}="${value.replace(/["\\\]]/g, "\\$&")}"`).join("");
  return Buffer.from(`${head} [${SD_ID}${data}] ${record.message}`);
}

/** The host name of the header: visible ASCII, or `-`. */
export function syslogHost(name: string): string {
  return /^[\x21-\x7e]{1,255}$/.test(name) ? name : "-";
}
