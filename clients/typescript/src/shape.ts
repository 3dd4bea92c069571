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
  /** Left out, because other fields have the same as plain JSON. */
  readonly dropped?: string;
  readonly nested?: Readonly<Record<string, Shape>>;
  /** The shape of each entry of a map. */
  readonly each?: Shape;
}

/** Completes a response in place, and vouches for its type: the generated method that names both keeps them in step. */
export function assertComplete<T>(response: unknown, shape: Shape | undefined): asserts response is T {
  if (shape) complete(response, shape);
}

type Fields = Record<string, unknown>;

function complete(response: unknown, shape: Shape): void {
  if (!isFields(response)) return;
  for (const name of namesIn(shape.dropped)) delete response[name];
  fill(response, shape.texts, () => "");
  fill(response, shape.numbers, () => 0);
  fill(response, shape.flags, () => false);
  fill(response, shape.lists, () => []);
  fill(response, shape.maps, () => ({}));
  fill(response, shape.bytes, () => "");
  convert(response, shape.times, (text) => new Date(text));
  convert(response, shape.longs, Number);
  convert(response, shape.bytes, (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
  if (shape.each) completeAll(Object.values(response), shape.each);
  for (const [name, inner] of Object.entries(shape.nested ?? {})) {
    const value = response[name];
    if (Array.isArray(value)) completeAll(value, inner);
    else complete(value, inner);
  }
}

function completeAll(responses: readonly unknown[], shape: Shape): void {
  for (const response of responses) complete(response, shape);
}

function fill(response: Fields, names: string | undefined, empty: () => unknown): void {
  for (const name of namesIn(names)) response[name] ??= empty();
}

function convert(response: Fields, names: string | undefined, by: (text: string) => unknown): void {
  for (const name of namesIn(names)) {
    const value = response[name];
    if (typeof value === "string") response[name] = by(value);
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
