/** A required argument: its position, its name, and what is expected. */
type RequiredArgument = readonly [position: number, name: string, what: string];

const PADDING: readonly RequiredArgument[] = [
  [0, "length", "a whole number"],
  [1, "pad_char", "one character"],
];

/** The required arguments of our own filters, which take arguments by position or by name. */
const OURS: ReadonlyMap<string, readonly RequiredArgument[]> = new Map([
  ["card_exp", [[0, "date_expression", "a text"]]],
  ["hmac", [[1, "key", "a text"]]],
  ["json", [[0, "json_path_expression", "a text"]]],
  ["pad_left", PADDING],
  ["pad_right", PADDING],
  ["reveal_last", [[0, "length", "a whole number"]]],
]);

/** The filters of standard Liquid that require an argument. */
const STANDARD: ReadonlySet<string> = new Set(
  `append at_least at_most concat divided_by find find_index has map minus modulo plus prepend reject remove remove_first
  remove_last replace replace_first replace_last slice split times where`.split(/\s+/),
);

/**
 * The first required argument that a use of a filter lacks, in words; undefined if it has all.
 * @param args in the engine's form: a named argument is a pair of its name and value.
 */
export function missingArgument(filter: string, args: readonly unknown[]): string | undefined {
  if (STANDARD.has(filter)) return args.length > 0 ? undefined : "an argument";
  const names = new Set(args.map((argument) => (Array.isArray(argument) ? argument[0] : undefined)));
  const positional = args.filter((argument) => !Array.isArray(argument)).length;
  const missing = OURS.get(filter)?.find(([position, name]) => positional <= position && !names.has(name));
  return missing && `${missing[2]} as ${missing[1]}`;
}
