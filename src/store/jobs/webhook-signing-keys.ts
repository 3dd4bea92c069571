import type { Uuid } from "../../base/ids.js";
import { defineChange, defineRead } from "../statements/row-statements.js";

interface SigningKeyRow {
  readonly id: Uuid;
  /** Sealed. */
  readonly private_key: Buffer;
}

export const readSigningKey = defineRead<SigningKeyRow>("webhook_signing_keys", "id, private_key");

/** Another process may have been faster: its key stays. */
export const insertSigningKeyIfMissing = defineChange<SigningKeyRow>(
  "webhook_signing_keys",
  (sql, tenantId, { id, private_key }, at) => sql`
    insert into webhook_signing_keys ${sql({ tenant_id: tenantId, id, private_key, created_at: at })}
    on conflict do nothing`,
);
