import { type ReceivedVerdict, type TenantPublicKeys, verifyReceived } from "../audit/verify/verify-received.js";
import { terminal } from "../base/terminal.js";
import { readLogPublicKey, signingKeyFingerprint } from "../crypto/log-signing.js";
import { EXIT_CODES, readingFile } from "./audit-verify-export.js";
import { describeFinding } from "./describe-finding.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

/** Verifies what a sink got without opening the vault. The exit codes are those of an export. */
export async function verifyReceivedFile(file: string, { options, printResult }: CommandInput): Promise<void> {
  const keys = readKeys(options);
  const verdict = await readingFile(file, (input) => verifyReceived(input, keys));
  printResult(show(verdict, options.json === true));
  terminal().exitCode = EXIT_CODES[verdict.state];
}

function readKeys({ key }: CommandInput["options"]): TenantPublicKeys {
  const texts = typeof key === "string" ? key.split(",") : [];
  return new Map(
    texts.map((text) => {
      const spki = Buffer.from(text.trim(), "base64");
      const publicKey = readLogPublicKey(spki);
      if (publicKey) return [signingKeyFingerprint(spki), publicKey];
      throw new UsageError(
        "--key must be public keys with --received, separated by commas, as cloakroom audit key shows them.",
      );
    }),
  );
}

function show(verdict: ReceivedVerdict, asJson: boolean): Readonly<Record<string, unknown>> {
  const { state, tenants, reasons, findings } = verdict;
  const shown = [...tenants].map(([tenant_id, { walk, repeated, first, sealedUntil }]) => ({
    tenant_id,
    rows: walk.rows,
    repeated,
    entries: walk.entries,
    first_entry: first,
    ...(sealedUntil ? { sealed_until: sealedUntil.toISOString() } : {}),
  }));
  return {
    result: state === "unknown" ? "cannot tell" : state,
    tenants: shown,
    ...(verdict.otherTenants > 0 ? { tenants_without_key: verdict.otherTenants } : {}),
    ...(verdict.vaultRows > 0 ? { vault_rows: verdict.vaultRows } : {}),
    ...(verdict.otherLines > 0 ? { other_lines: verdict.otherLines } : {}),
    ...(reasons.length > 0 ? { reasons } : {}),
    finding_count: verdict.findingCount,
    findings: asJson ? findings : findings.map(describeFinding).join(""),
  };
}
