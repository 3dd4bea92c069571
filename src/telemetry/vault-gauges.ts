import { X509Certificate } from "node:crypto";
import { Gauge, type Registry } from "prom-client";
import type { WatchedDates } from "../store/audit/watched-dates.js";

/** How long dates of days are served from memory, in milliseconds. */
const REMEMBERED_MS = 60_000;

/** Which build runs: a constant 1 whose labels say it. */
export function gaugeBuild(
  registry: Registry,
  { version, commit = "unknown" }: { readonly version: string; readonly commit?: string },
): void {
  new Gauge({
    name: "cloakroom_build_info",
    help: "Always 1. The labels say which build this is.",
    labelNames: ["version", "commit", "node"],
    // Every process reports the same value.
    aggregator: "max",
    registers: [registry],
  }).set({ version, commit, node: process.versions.node }, 1);
}

/** When the certificate of the API port ends. Nothing without TLS. */
export function gaugeCertificate(
  registry: Registry,
  certificate: { readonly current: { readonly cert: Buffer } } | undefined,
): void {
  if (!certificate) return;
  new Gauge({
    name: "cloakroom_tls_certificate_expiry_timestamp_seconds",
    help: "When the certificate of the API port ends, in seconds since 1970.",
    // That of the process whose certificate ends first.
    aggregator: "min",
    registers: [registry],
    collect() {
      this.set(new X509Certificate(certificate.current.cert).validToDate.getTime() / 1_000);
    },
  });
}

/** Since when the root key wraps, and when all stored data was last exported. */
export function gaugeDates(registry: Registry, readDates: () => Promise<WatchedDates>, now: () => number): void {
  let read: { readonly at: number; readonly dates: Promise<WatchedDates | undefined> } | undefined;
  const dates = () => {
    if (!read || now() - read.at > REMEMBERED_MS) {
      // Readiness reports an unreachable database; the other metrics are all the more useful then.
      read = { at: now(), dates: readDates().catch(() => undefined) };
    }
    return read.dates;
  };
  const gauge = (name: string, help: string, timeOf: (dates: WatchedDates) => number | undefined) =>
    new Gauge({
      name,
      help,
      aggregator: "max",
      registers: [registry],
      async collect() {
        const known = await dates();
        const value = known && timeOf(known);
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  gauge("cloakroom_root_key_age_seconds", "Age of the root key that wraps now.", ({ rootKey }) =>
    rootKey ? Math.max(0, (now() - rootKey.getTime()) / 1_000) : undefined,
  );
  gauge(
    "cloakroom_last_export_timestamp_seconds",
    "When all stored data was last exported by a command, in seconds since 1970. Absent: never.",
    ({ lastExport }) => (lastExport ? lastExport.getTime() / 1_000 : undefined),
  );
}
