/**
 * What completes a response. JSON of protobuf leaves out what is empty, and has times, bytes and 64-bit numbers as texts.
 * Names are separated by blanks, which is the smallest form.
 */
export interface Shape {
  readonly texts?: string;
  readonly numbers?: string;
  readonly flags?: string;
  readonly lists?: string;
  readonly maps?: string;
  readonly times?: string;
  readonly bytes?: string;
  readonly longs?: string;
  /** Longs that a response always has. */
  readonly counts?: string;
  /** Left out, because other fields have the same as plain JSON. */
  readonly dropped?: string;
  /** Messages. */
  readonly nested?: Shapes;
  /** Lists of messages, and maps of messages, which are in `maps` too. */
  readonly items?: Shapes;
}

type Shapes = Readonly<Record<string, Shape>>;

/** Completes a response in place, and vouches for its type: the generated method that names both keeps them in step. */
export function assertComplete<T>(response: unknown, shape: Shape | undefined): asserts response is T {
  if (shape) complete(response, shape);
}

type Fields = Record<string, unknown>;

function complete(response: unknown, shape: Shape): void {
  if (!isFields(response)) return;
  const each = (names: string | undefined, by: (value: unknown) => unknown) => {
    for (const name of namesIn(names)) {
      const value = by(response[name]);
      if (value !== undefined) response[name] = value;
    }
  };
  for (const name of namesIn(shape.dropped)) delete response[name];
  each(shape.texts, (value) => value ?? "");
  each(shape.numbers, (value) => value ?? 0);
  each(shape.flags, (value) => value ?? false);
  each(shape.lists, (value) => value ?? []);
  each(shape.maps, (value) => value ?? {});
  each(shape.counts, (value) => Number(value ?? 0));
  each(shape.longs, (value) => value && Number(value));
  each(shape.times, (value) => value && new Date(String(value)));
  each(shape.bytes, (value) => Uint8Array.from(atob(String(value ?? "")), (letter) => letter.charCodeAt(0)));
  for (const [name, inner] of Object.entries(shape.nested ?? {})) complete(response[name], inner);
  for (const [name, inner] of Object.entries(shape.items ?? {})) {
    response[name] ??= [];
    for (const item of Object.values(Object(response[name]))) complete(item, inner);
  }
}

function namesIn(text: string | undefined): readonly string[] {
  return text?.split(" ") ?? [];
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A field of a value that may be anything. */
export function fieldOf(message: unknown, name: string): unknown {
  return isFields(message) ? message[name] : undefined;
}
