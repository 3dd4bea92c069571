type Bounds = readonly [least: number, most: number];

/** A text with a default. `format` says what values look like. */
export const text = (format: string, byDefault: string, meaning: string) =>
  ({ kind: "text", format, byDefault, meaning }) as const;

/** A text that may be absent. `otherwise` describes the effect of its absence. */
export const optional = (format: string, otherwise: string, meaning: string) =>
  ({ kind: "optional", format, otherwise, meaning }) as const;

/** A password, token or address that contains one. It can also come as a file, named by the same variable with `_FILE`. */
export const secret = (format: string, otherwise: string, meaning: string) =>
  ({ kind: "secret", format, otherwise, meaning }) as const;

export const whole = (byDefault: number, [least, most]: Bounds, meaning: string) =>
  ({ kind: "whole", byDefault, least, most, meaning }) as const;

export const optionalWhole = (otherwise: string, [least, most]: Bounds, meaning: string) =>
  ({ kind: "optional_whole", otherwise, least, most, meaning }) as const;

export type Setting = ReturnType<typeof text | typeof optional | typeof secret | typeof whole | typeof optionalWhole>;
