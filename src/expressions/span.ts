/** A `{{ ... }}` in a text. `text.slice(start, end)` is the whole of it, braces included. */
export interface ExpressionSpan {
  readonly start: number;
  readonly end: number;
  /** The text between the braces, blanks included. */
  readonly expression: string;
}

/**
 * Finds the expressions of a text, from left to right, in linear time for any text. As in Liquid, an expression ends at
 * the first `}}`, even inside quotes. It begins at the last `{{` before that, so stray braces before it (`{"a":{{ id
 * }}}`) do not hide it. Unpaired braces are plain text.
 */
export function* expressionSpans(text: string): Generator<ExpressionSpan> {
  let from = 0;
  for (;;) {
    const open = text.indexOf("{{", from);
    if (open === -1) return;
    const close = text.indexOf("}}", open + 2);
    if (close === -1) return;
    const start = text.lastIndexOf("{{", close - 2);
    yield { start, end: close + 2, expression: text.slice(start + 2, close) };
    from = close + 2;
  }
}

/** The expression of a text that is nothing else. Undefined for every other text. */
export function soleExpression(text: string): ExpressionSpan | undefined {
  if (!text.startsWith("{{") || text.indexOf("}}", 2) !== text.length - 2) return undefined;
  if (text.lastIndexOf("{{", text.length - 4) !== 0) return undefined;
  return { start: 0, end: text.length, expression: text.slice(2, -2) };
}
