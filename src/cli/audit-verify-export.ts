import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import type { EarlierExport } from "../audit/verify/earlier-export.js";
import { type ExportState, type ExportVerdict, verifyExport } from "../audit/verify/verify-export.js";
import { terminal } from "../base/terminal.js";
import { readCertificates } from "../crypto/certificates.js";
import { describeFinding } from "./describe-finding.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

/** A file that can be neither trusted nor refuted has the exit code of a wrong call. */
export const EXIT_CODES = { good: 0, tampered: 1, unknown: 2 } as const satisfies Record<ExportState, number>;

/** Verifies an export without opening the vault. Exit code 0: good, 1: tampered with, 2: cannot tell. */
export async function verifyExportFile(file: string, { options, printResult }: CommandInput): Promise<void> {
  const trust = { fingerprint: readKey(options), authorities: await readAuthorities(options) };
  const after = typeof options.after === "string" ? await readEarlier(options.after, trust.fingerprint) : undefined;
  const verdict = await readingFile(file, (input) => verifyExport(input, { ...trust, after }));
  printResult(show(verdict, options.json === true));
  terminal().exitCode = EXIT_CODES[verdict.state];
}

/** Reads a file for a verification. @throws {UsageError} if it cannot be read. */
export function readingFile<T>(file: string, verify: (input: AsyncIterable<Buffer>) => Promise<T>): Promise<T> {
  return verify(createReadStream(file, { highWaterMark: 256 * 1024 })).catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!/^E[A-Z]+$/.test(code)) throw error;
    throw new UsageError(`${file} cannot be read (${code}).`);
  });
}

function readKey({ key }: CommandInput["options"]): string | undefined {
  if (key === undefined) return undefined;
  const fingerprint = String(key).toLowerCase();
  if (/^[0-9a-f]{64}$/.test(fingerprint)) return fingerprint;
  throw new UsageError("--key must be a fingerprint of 64 hexadecimal digits, as cloakroom audit key shows it.");
}

/** @throws {UsageError} for a file that proves nothing itself. */
async function readEarlier(file: string, fingerprint: string | undefined): Promise<EarlierExport> {
  const { manifest, last, findingCount } = await readingFile(file, (input) => verifyExport(input, { fingerprint }));
  if (findingCount > 0) throw new UsageError(`${file} was changed. Run: cloakroom audit verify ${file}`);
  if (manifest && last) return { manifest, last };
  throw new UsageError(`--after must be an export with at least one entry: ${file}.`);
}

async function readAuthorities(options: CommandInput["options"]) {
  const file = options["tsa-ca"];
  if (typeof file !== "string") return undefined;
  try {
    return readCertificates(await readFile(file, "utf8"));
  } catch {
    throw new UsageError(`--tsa-ca must be a file with certificates in PEM: ${file}.`);
  }
}

function show(verdict: ExportVerdict, asJson: boolean): Readonly<Record<string, unknown>> {
  const { state, manifest, findings, sealedUntil, stamps } = verdict;
  return {
    result: state === "unknown" ? "cannot tell" : state,
    ...(manifest ? { tenant_id: manifest.tenant_id, since: manifest.since, until: manifest.until } : {}),
    ...(manifest ? { key: manifest.key, exported_at: manifest.exported_at } : {}),
    rows: verdict.rows,
    entries: verdict.entries,
    ...(sealedUntil ? { sealed_until: sealedUntil.toISOString() } : {}),
    ...(stamps.verified > 0 ? { time_stamps: stamps.verified } : {}),
    ...(stamps.last
      ? { stamped_until: stamps.last.until.toISOString(), stamped_at: stamps.last.at.toISOString() }
      : {}),
    ...(stamps.unverified > 0 ? { time_stamps_not_verified: stamps.unverified } : {}),
    ...(verdict.removedMinutes > 0 ? { minutes_removed_by_retention: verdict.removedMinutes } : {}),
    ...(verdict.restarts > 0 ? { chain_restarts: verdict.restarts } : {}),
    ...(verdict.reasons.length > 0 ? { reasons: verdict.reasons } : {}),
    ...(verdict.warnings.length > 0 ? { warnings: verdict.warnings } : {}),
    finding_count: verdict.findingCount,
    findings: asJson ? findings : findings.map(describeFinding).join(""),
  };
}
