import type { ContainerPath } from "../access/container.js";
import type { Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { DataField } from "./data-field.js";
import type { TokenType } from "./types/token-type.js";

/** The fields of a token that expressions compute from its value. */
export const EXPRESSION_FIELDS = ["mask", "searchIndexes", "fingerprintExpression"] as const;
export type ExpressionField = (typeof EXPRESSION_FIELDS)[number];

/** A token's optional attributes. An absent one has its type's default. */
export interface TokenAttributes {
  readonly mask?: Json;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly searchIndexes?: readonly string[];
  readonly fingerprintExpression?: string;
  /** Written by a caller who may not use the value: stored and shown, not evaluated. Absent: none. */
  readonly inactive?: readonly ExpressionField[];
}

export interface Expiry {
  readonly at: Date;
  /** ISO 8601 with the original offset. */
  readonly text: string;
}

export interface Token {
  readonly id: string;
  readonly type: TokenType;
  readonly data: Sensitive<Json>;
  readonly attributes: TokenAttributes;
  readonly containers: readonly ContainerPath[];
  /** Present while fingerprinting is on for the token. */
  readonly fingerprint: Buffer | undefined;
  /** New tokens with the same content are deduplicated onto this one. */
  readonly isDeduplicated: boolean;
  /** The values of its own search indexes, from when it was written. */
  readonly indexValues: readonly string[] | undefined;
  readonly expiry: Expiry | undefined;
  readonly createdBy: Uuid;
  readonly createdAt: Date;
  readonly modifiedBy: Uuid | undefined;
  readonly modifiedAt: Date | undefined;
  readonly revision: number;
}

export interface TokenDraft {
  readonly id: string | undefined;
  readonly type: string;
  readonly data: Json;
  /** The field that held the data. Default: `data`. */
  readonly dataField?: DataField;
  readonly attributes: TokenAttributes;
  readonly containers: readonly string[];
  readonly deduplicate: boolean | undefined;
  readonly expiresAt: string | undefined;
  /** The name of a template, for frames. */
  readonly template?: string | undefined;
  /** Its expressions are those of a template, which never fail: a page would learn something of the value. */
  readonly isLenient?: boolean;
}
