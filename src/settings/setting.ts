/** A text with a default. `format` says what values look like. */
interface TextSetting {
  readonly kind: "text";
  readonly format: string;
  readonly byDefault: string;
  readonly meaning: string;
}

/** A text that may be absent. `otherwise` describes the effect of its absence. */
interface OptionalSetting {
  readonly kind: "optional";
  readonly format: string;
  readonly otherwise: string;
  readonly meaning: string;
}

/** A password, token or address that contains one. It can also come as a file, named by the same variable with `_FILE`. */
interface SecretSetting {
  readonly kind: "secret";
  readonly format: string;
  readonly otherwise: string;
  readonly meaning: string;
}

interface WholeSetting {
  readonly kind: "whole";
  readonly byDefault: number;
  readonly least: number;
  readonly most: number;
  readonly meaning: string;
}

interface OptionalWholeSetting {
  readonly kind: "optional_whole";
  readonly otherwise: string;
  readonly least: number;
  readonly most: number;
  readonly meaning: string;
}

export type Setting = TextSetting | OptionalSetting | SecretSetting | WholeSetting | OptionalWholeSetting;

export const text = (format: string, byDefault: string, meaning: string): TextSetting => ({
  kind: "text",
  format,
  byDefault,
  meaning,
});
export const optional = (format: string, otherwise: string, meaning: string): OptionalSetting => ({
  kind: "optional",
  format,
  otherwise,
  meaning,
});
export const secret = (format: string, otherwise: string, meaning: string): SecretSetting => ({
  kind: "secret",
  format,
  otherwise,
  meaning,
});
export const whole = (byDefault: number, [least, most]: readonly [number, number], meaning: string): WholeSetting => ({
  kind: "whole",
  byDefault,
  least,
  most,
  meaning,
});
export const optionalWhole = (
  otherwise: string,
  [least, most]: readonly [number, number],
  meaning: string,
): OptionalWholeSetting => ({ kind: "optional_whole", otherwise, least, most, meaning });
