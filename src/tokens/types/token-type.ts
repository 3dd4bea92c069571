import type { Json } from "../../base/json.js";

/** A kind of data: how it is validated, and the defaults of its tokens. */
export interface TokenType {
  readonly name: string;
  /** Validates data and returns its stored form. Throws a fault that names each invalid field. */
  normalize(data: Json): Json;
  /** Default containers. */
  readonly containers: readonly string[];
  /** Default mask; null shows nothing. */
  readonly mask: Json;
  /**
   * A fast equivalent of evaluating {@link mask} on data, and used instead. Returns undefined for data that needs the
   * evaluation.
   */
  maskInCode?(data: Json): Json | undefined;
  readonly fingerprintExpression: string;
  /** Default search indexes. */
  readonly searchIndexes: readonly string[];
  /** The detail object that responses carry beside the data. */
  readonly details: "card" | "bank" | null;
}
