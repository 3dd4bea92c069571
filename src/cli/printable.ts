/**
 * Characters that steer a terminal (C0, DEL, C1), or change the order in which text is shown (Unicode 16, UAX 9, 2.1 to 2.6),
 * and the separators that some programs read as ends of lines.
 */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** The text in one line, without characters that could steer a terminal: names and messages come from other people. */
export function printable(text: string): string {
  return text.replace(UNSAFE, "\u{fffd}");
}

/** The same for a text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** The value as JSON in one line, with the same characters escaped. */
export function printableJson(value: unknown): string {
  // JSON.stringify escapes C0 only.
  return JSON.stringify(value).replace(UNSAFE, (unsafe) => `\\u${unsafe.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
