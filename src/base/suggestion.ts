/**
 * How many edits may lie between a word and a suggestion for it: one for every four characters, but at least two, and
 * never more than half of the word.
 */
const MIN_ALLOWED_EDITS = 2;
const CHARACTERS_PER_EDIT = 4;

/** The candidate that a misspelled word most likely means; undefined if none is close or begins with it. */
export function suggestionFor(word: string, candidates: readonly string[]): string | undefined {
  const most = Math.min(Math.max(MIN_ALLOWED_EDITS, word.length / CHARACTERS_PER_EDIT), word.length / 2);
  const rated = candidates
    .map((candidate) => ({ candidate, edits: editDistance(word, candidate) }))
    .filter(({ edits }) => edits <= most)
    .toSorted((one, other) => one.edits - other.edits);
  return rated[0]?.candidate ?? candidates.find((candidate) => word.length > 1 && candidate.startsWith(word));
}

/** The Damerau-Levenshtein distance of two words, with swaps of neighbours as one edit. */
export function editDistance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= other.length; column += 1) {
      const differs = one[row - 1] === other[column - 1] ? 0 : 1;
      const isSwapped = row > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + differs,
        isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return at(one.length, other.length);
}
