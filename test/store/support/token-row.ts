import { newUuid } from "../../../src/base/ids.js";
import type { TokenRow } from "../../../src/store/tokens/tokens.js";

export function tokenRow(more: Partial<TokenRow>): TokenRow {
  return {
    ...{ id: newUuid(), type: "token", data: Buffer.from("sealed"), attributes: null, containers: ["/a/"] },
    ...{ fingerprint: null, dedupe_key: null, expires_at: null, expires_at_text: null, revision: 1 },
    ...{
      active_month: "2026-01-01",
      created_by: newUuid(),
      created_at: new Date(),
      modified_by: null,
      modified_at: null,
    },
    ...more,
  };
}
