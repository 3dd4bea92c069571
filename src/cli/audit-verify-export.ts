import { createReadStream } from "node:fs";
import { type ExportVerdict, verifyExport } from "../audit/verify-export.js";
import { type CommandInput, UsageError } from "./command.js";
import { findingInWords } from "./finding-in-words.js";

/** The exit code for a file that can be neither trusted nor refuted, as for a wrong call. */
const CANNOT_TELL = 2;

/** Verifies an export without opening the vault. Exit code 0: good, 1: tampered with, 2: cannot tell. */
export async function verifyExportFile(file: string, { options, answer }: CommandInput): Promise<void> {
  const verdict = await verifyExport(createReadStream(file, { highWaterMark: 256 * 1024 }), readKey(options)).catch(
    (error: unknown) => {
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      if (!/^E[A-Z]+$/.test(code)) throw error;
      throw new UsageError(`${file} cannot be read (${code}).`);
    },
  );
  answer(show(verdict, options.json === true));
  process.exitCode = { good: 0, tampered: 1, unknown: CANNOT_TELL }[verdict.state];
}

function readKey({ key }: CommandInput["options"]): string | undefined {
  if (key === undefined) return undefined;
  const fingerprint = String(key).toLowerCase();
  if (/^[0-9a-f]{64}$/.test(fingerprint)) return fingerprint;
  throw new UsageError("--key must be a fingerprint of 64 hexadecimal digits, as cloakroom audit key shows it.");
}

function show(verdict: ExportVerdict, asJson: boolean): Readonly<Record<string, unknown>> {
  const { state, manifest, findings, sealedUntil } = verdict;
  return {
    result: state === "unknown" ? "cannot tell" : state,
    ...(manifest ? { tenant_id: manifest.tenant_id, since: manifest.since, until: manifest.until } : {}),
    ...(manifest ? { key: manifest.key, exported_at: manifest.exported_at } : {}),
    ...{ rows: verdict.rows, entries: verdict.entries },
    ...(sealedUntil ? { sealed_until: sealedUntil.toISOString() } : {}),
    ...(verdict.unsignedRows > 0 ? { rows_without_signature: verdict.unsignedRows } : {}),
    ...(verdict.removedMinutes > 0 ? { minutes_removed_by_retention: verdict.removedMinutes } : {}),
    ...(verdict.restarts > 0 ? { chain_restarts: verdict.restarts } : {}),
    ...(verdict.reasons.length > 0 ? { reasons: verdict.reasons } : {}),
    finding_count: verdict.findingCount,
    findings: asJson ? findings : findings.map(findingInWords).join(""),
  };
}
