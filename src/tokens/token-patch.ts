import type { Json } from "../base/json.js";
import type { DataField } from "./data-field.js";

/** A caller's patch. A null field is cleared; an absent one stays. */
export interface TokenPatch {
  /** Immutable fields. A client may send them back unchanged. */
  readonly fixed?: { readonly type?: string | null; readonly tenantId?: string | null };
  readonly data?: Json;
  /** The field that held the data. Default: `data`. */
  readonly dataField?: DataField;
  readonly mask?: Json;
  readonly metadata?: Json;
  readonly containers?: readonly string[] | null;
  readonly searchIndexes?: readonly string[] | null;
  readonly fingerprintExpression?: string | null;
  readonly deduplicate?: boolean | null;
  readonly expiresAt?: string | null;
}
