/**
 * The sizes that inputs are cut into. Each size is a separate prepared statement on each connection, so there must be
 * few. 8 down to 1 are complete because most batches are small.
 */
const SIZES = [64, 32, 16, 8, 7, 6, 5, 4, 3, 2, 1] as const;

export function inPreparedSizes<Input>(inputs: readonly Input[]): readonly (readonly Input[])[] {
  if (inputs.length <= 8) return inputs.length === 0 ? [] : [inputs];
  const pieces: (readonly Input[])[] = [];
  let from = 0;
  for (const size of SIZES) {
    while (inputs.length - from >= size) {
      pieces.push(inputs.slice(from, from + size));
      from += size;
    }
  }
  return pieces;
}
