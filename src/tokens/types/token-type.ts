import type { Json } from "../../base/json.js";

/** What the service knows of a kind of data: how it is checked and what a token of it has when its creator says nothing. */
export interface TokenType {
  /** As in `type` of a token. */
  readonly name: string;
  /** For people, in the list of entity types. */
  readonly displayName: string;
  /** Checks data and puts it into the form that is stored. Throws a fault that names each field that is wrong. */
  normalize(data: Json): Json;
  /** Containers of a token that names none. */
  readonly containers: readonly string[];
  /** Mask of a token that has none; null shows nothing. */
  readonly mask: Json;
  /** What {@link mask} shows of data, where plain code can tell; undefined: evaluate it. */
  applyMask?(data: Json): Json | undefined;
  /** Text to fingerprint. */
  readonly fingerprintExpression: string;
  /** Search indexes of a token that names none. */
  readonly searchIndexes: readonly string[];
  /** Which object answers carry beside the data. */
  readonly details: "card" | "bank" | null;
}
