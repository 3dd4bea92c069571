import type { ContainerPath } from "../access/container.js";
import type { Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { TokenType } from "./types/token-type.js";

/** What of a token is made of its value by expressions. */
export const EXPRESSION_FIELDS = ["mask", "searchIndexes", "fingerprintExpression"] as const;
export type ExpressionField = (typeof EXPRESSION_FIELDS)[number];

/** What a token was given beside its data. What was not given is absent, and the type's default holds. */
export interface TokenAttributes {
  readonly mask?: Json;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly searchIndexes?: readonly string[];
  readonly fingerprintExpression?: string;
  /** Written by somebody who may not use the value: kept and shown, and not evaluated. Absent: none. */
  readonly dormant?: readonly ExpressionField[];
}

/** An expiry, and how it was written. */
export interface Expiry {
  readonly at: Date;
  /** ISO 8601 with the offset that was given. */
  readonly text: string;
}

/** A token with its data opened. */
export interface Token {
  readonly id: string;
  readonly type: TokenType;
  readonly data: Sensitive<Json>;
  readonly attributes: TokenAttributes;
  readonly containers: readonly ContainerPath[];
  /** Present while fingerprinting is on for the token. */
  readonly fingerprint: Buffer | undefined;
  /** Others of the same content are folded into this token. */
  readonly isDeduplicated: boolean;
  /** The values of its own search indexes, as they were when it was written. */
  readonly indexValues: readonly string[] | undefined;
  readonly expiry: Expiry | undefined;
  readonly createdBy: Uuid;
  readonly createdAt: Date;
  readonly modifiedBy: Uuid | undefined;
  readonly modifiedAt: Date | undefined;
  readonly revision: number;
}

/** A token that a caller wants made, as it wrote it. */
export interface TokenDraft {
  readonly id: string | undefined;
  readonly type: string;
  readonly data: Json;
  readonly attributes: TokenAttributes;
  readonly containers: readonly string[];
  readonly deduplicate: boolean | undefined;
  readonly expiresAt: string | undefined;
}
