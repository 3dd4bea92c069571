/** The types of the messages that PostgreSQL sends (protocol 3.0). */
export const MESSAGE = {
  parseComplete: code("1"),
  bindComplete: code("2"),
  notification: code("A"),
  commandComplete: code("C"),
  dataRow: code("D"),
  error: code("E"),
  emptyQuery: code("I"),
  notice: code("N"),
  parameterStatus: code("S"),
  rowDescription: code("T"),
  readyForQuery: code("Z"),
  noData: code("n"),
  parameterDescription: code("t"),
} as const;

/** The transaction status outside of a transaction. */
export const IDLE = code("I");

function code(letter: string): number {
  return letter.charCodeAt(0);
}
