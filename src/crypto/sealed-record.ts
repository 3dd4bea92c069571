import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { type AadValue, encodeAad, open, SealBroken, type SealContext, seal } from "./sealed.js";
import type { TenantKeys } from "./tenant-keys.js";

/** The row of a sealed value: its id, and the plain columns that the value is bound to. */
export type BoundRow<Column extends string> = { readonly id: string } & Readonly<Record<Column, AadValue>>;

/** A sealed column of a table, sealed with the tenant's key `data`. */
export interface SealedField<Row, Content, Opened = Content> {
  seal(keys: TenantKeys, row: Row, content: Content): Buffer;
  /** @throws {SealBroken} if no server sealed it for this row. */
  open(keys: TenantKeys, row: Row, sealed: Uint8Array): Opened;
}

interface FieldName<Column extends string> {
  /** Its name in the additional data, as in `SEALED_TABLES`. */
  readonly field: string;
  readonly bound?: readonly Column[];
}

export function sealedBytes<Column extends string = never>({
  field,
  bound,
}: FieldName<Column>): SealedField<BoundRow<Column>, Uint8Array, Buffer> {
  const sealContext = ({ tenantId }: TenantKeys, row: BoundRow<Column>): SealContext =>
    bound
      ? { tenantId, entity: row.id, field, bound: encodeAad<Column>(row, bound) }
      : { tenantId, entity: row.id, field };
  return {
    seal: (keys, row, plaintext) => seal(keys.data, sealContext(keys, row), plaintext),
    open: (keys, row, sealed) => open(keys.data, sealContext(keys, row), sealed),
  };
}

/** A sealed column `proof`: it holds nothing, and proves that a server wrote the bound columns of its row. */
export function sealedProof<Column extends string>(name: FieldName<Column>) {
  const bytes = sealedBytes(name);
  return {
    seal: (keys: TenantKeys, row: BoundRow<Column>): Buffer => bytes.seal(keys, row, Buffer.alloc(0)),
    /** @throws {SealBroken} if no server wrote the row. */
    require(keys: TenantKeys, row: BoundRow<Column> & { readonly proof: Uint8Array }): void {
      bytes.open(keys, row, row.proof);
    },
  };
}

/**
 * A sealed column that holds an object, as JSON.
 * @param write the object that is stored. Its fields keep their order.
 * @param read the content of a stored object. Absent: the object itself, because only a server can have sealed it.
 */
export function sealedRecord<Column extends string = never, Content = JsonObject, Opened = Content>({
  write,
  read,
  ...name
}: FieldName<Column> & {
  readonly write: (content: Content) => object;
  readonly read?: (stored: JsonObject) => Opened;
}): SealedField<BoundRow<Column>, Content, Opened> {
  const bytes = sealedBytes(name);
  return {
    seal: (keys, row, content) => bytes.seal(keys, row, Buffer.from(JSON.stringify(write(content)))),
    open(keys, row, sealed) {
      const stored = JSON.parse(bytes.open(keys, row, sealed).toString());
      requireObject(stored, name.field);
      return read ? read(stored) : stored;
    },
  };
}

function requireObject(stored: Json, field: string): void {
  if (!isJsonObject(stored)) throw new SealBroken(`a sealed ${field} is not an object`);
}
