import type { KeyObject } from "node:crypto";
import { isTenantId, type TenantId, VAULT_TENANT_ID } from "../../base/ids.js";
import { unknownFormat } from "../../crypto/bytes.js";
import { SEAL_FORMAT } from "../../crypto/log-seal.js";
import { isLogSignature } from "../../crypto/log-signing.js";
import type { Finding } from "../chain/findings.js";
import { otherFormat, readBody } from "../chain/seal-body.js";
import { parseLineFields } from "../export/export-format.js";
import { readRowJson } from "../export/row-json.js";
import { rawLines, Unreadable } from "./raw-lines.js";
import { ReceivedTenant } from "./received-tenant.js";
import type { ExportState } from "./verify-export.js";

/** Public keys of tenants, by fingerprint. */
export type TenantPublicKeys = ReadonlyMap<string, KeyObject>;

export interface ReceivedVerdict {
  readonly state: ExportState;
  /** Those whose keys were given. */
  readonly tenants: ReadonlyMap<TenantId, ReceivedTenant>;
  /** Tenants whose keys were not given: nothing is said about their rows. */
  readonly otherTenants: number;
  /** Rows of the vault's own log, which is not signed: nothing is said about them. */
  readonly vaultRows: number;
  /** Lines that are not of the log, such as those of the operator's log on standard output. */
  readonly otherLines: number;
  readonly reasons: readonly string[];
  readonly findings: readonly Finding[];
  readonly findingCount: number;
}

const ROW = '{"kind":"row","tenant_id":';
const ENTRY = /^\{"kind":"(?:seal|set_back|restart|event)","tenant_id":/;

/**
 * Verifies lines of JSON that a sink got, without the vault. Rows count as received once their seal follows. What an
 * end of the file lacks cannot be seen: a later file begins there.
 */
export async function verifyReceived(input: AsyncIterable<Buffer>, keys: TenantPublicKeys): Promise<ReceivedVerdict> {
  const check = new ReceivedCheck(keys);
  try {
    for await (const line of rawLines(input)) check.line(line.toString("utf8", 0, line.length - 1));
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    check.reasons.push(error.message);
  }
  return check.verdict();
}

class ReceivedCheck {
  readonly #keys: TenantPublicKeys;
  readonly #tenants = new Map<TenantId, ReceivedTenant>();
  readonly #used = new Set<string>();
  readonly reasons: string[] = [];
  #otherLines = 0;
  #vaultRows = 0;

  constructor(keys: TenantPublicKeys) {
    this.#keys = keys;
  }

  line(text: string): void {
    const isRow = text.startsWith(ROW);
    const fields = isRow || ENTRY.test(text) ? parseLineFields(text) : undefined;
    const tenantId = fields?.get("tenant_id");
    if (!fields || typeof tenantId !== "string" || !isTenantId(tenantId)) {
      this.#otherLines += 1;
      return;
    }
    if (tenantId === VAULT_TENANT_ID) {
      this.#vaultRows += isRow ? 1 : 0;
      return;
    }
    const tenant = this.#tenants.get(tenantId) ?? new ReceivedTenant(tenantId);
    this.#tenants.set(tenantId, tenant);
    if (isRow) {
      const row = readRowJson(tenantId, text);
      if (row) tenant.row({ row, line: text });
      else tenant.walk.findings.add("file_changed", undefined, "a row is not as the vault writes it");
    } else this.#entry(tenant, tenantId, fields, text);
  }

  verdict(): ReceivedVerdict {
    const signed = [...this.#tenants].filter(([, tenant]) => tenant.isSigned);
    for (const [tenantId, tenant] of signed) this.#explain(tenantId, tenant);
    for (const fingerprint of this.#keys.keys()) {
      if (!this.#used.has(fingerprint)) this.reasons.push(`nothing in the file is signed by the key ${fingerprint}`);
    }
    if (this.#keys.size === 0) this.reasons.push("without --key, no signature can be verified");
    const findings = signed.flatMap(([, tenant]) => tenant.walk.findings.list);
    const findingCount = signed.reduce((sum, [, tenant]) => sum + tenant.walk.findings.count, 0);
    return {
      state: findingCount > 0 ? "tampered" : this.reasons.length > 0 ? "unknown" : "good",
      tenants: new Map(signed),
      otherTenants: this.#tenants.size - signed.length,
      otherLines: this.#otherLines,
      vaultRows: this.#vaultRows,
      reasons: this.reasons,
      findings,
      findingCount,
    };
  }

  #entry(tenant: ReceivedTenant, tenantId: TenantId, fields: ReadonlyMap<string, unknown>, line: string): void {
    const { kind, number, rows, body: written, signature } = Object.fromEntries(fields);
    const text = typeof written === "string" ? written : "";
    const body = readBody(text);
    // Encoded again: base64 has several texts for the same bytes.
    const signed = Buffer.from(String(signature), "base64");
    const encoded = signed.toString("base64");
    const version = otherFormat(text);
    // Only a tenant's key can say that there is another format: anyone else changed the file.
    if (version !== undefined && [...this.#keys.values()].some((key) => isLogSignature(key, text, signed))) {
      this.reasons.push(`tenant ${tenantId}: ${unknownFormat("an entry", version, SEAL_FORMAT)}`);
      return;
    }
    const isMinute = body?.kind === "minute";
    const expected = {
      kind: isMinute ? "seal" : body?.kind,
      tenant_id: tenantId,
      number: body?.number,
      rows: body?.rows,
    };
    const isSame =
      JSON.stringify({ ...expected, body: text, signature: encoded }) === line && body?.tenantId === tenantId;
    if (!body || !isSame) {
      tenant.walk.findings.add(
        "seal_changed",
        body?.window,
        `an entry (${kind} ${number} of ${rows} rows) is not as the vault writes it`,
      );
      return;
    }
    const key = this.#keys.get(body.key);
    if (key) {
      this.#used.add(body.key);
      tenant.seal({ body, text, signature: signed }, key);
    } else if (tenant.isSigned) {
      tenant.walk.findings.add("seal_changed", body.window, `entry ${body.number} is signed by another key`);
    }
  }

  #explain(tenantId: TenantId, tenant: ReceivedTenant): void {
    const { beginsInMinute } = tenant;
    const unsealedRows = tenant.walk.openRows;
    const say = (reason: string) => this.reasons.push(`tenant ${tenantId}: ${reason}`);
    if (beginsInMinute) say("the file begins within a minute: verify it together with the file before");
    if (unsealedRows > 0) say(`${unsealedRows} rows at the end have no seal yet`);
  }
}
