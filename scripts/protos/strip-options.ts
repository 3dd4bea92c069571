/**
 * The text of a proto without the options that only the server reads: compilers need no further file for it. Options
 * of protobuf itself stay, such as `deprecated`, as do comments.
 */
export function stripOptions(text: string): string {
  return withoutImports(withoutFieldOptions(withoutStatements(text)));
}

/** Files that nothing but such options come from. */
const ONLY_OPTIONS =
  /^import "(?:buf\/validate\/validate|cloakroom\/v1\/options|google\/api\/annotations)\.proto";\n/gm;

function withoutImports(text: string): string {
  return text.replaceAll(ONLY_OPTIONS, "");
}

/** Removes `option (name) = ...;` with the line that it takes. */
function withoutStatements(text: string): string {
  let rest = text;
  let kept = "";
  for (;;) {
    const start = statementIn(rest);
    if (start === undefined) return (kept + rest).replaceAll(/ \{\s*\n\s*\}/g, " {}");
    const end = endOf(rest, start, ";");
    kept += rest.slice(0, start).replace(/[ \t]*$/, "");
    rest = rest.slice(end + 1).replace(/^[ \t]*\n/, "");
  }
}

/** Removes `(name) = value` from the options in brackets behind a field. */
function withoutFieldOptions(text: string): string {
  let rest = text;
  let kept = "";
  for (;;) {
    const start = bracketIn(rest);
    if (start === undefined) return kept + rest;
    const end = endOf(rest, start + 1, "]");
    const ours = entriesOf(rest.slice(start + 1, end)).filter((entry) => !entry.startsWith("("));
    kept += rest.slice(0, start).trimEnd() + (ours.length === 0 ? "" : ` [${ours.join(", ")}]`);
    rest = rest.slice(end + 1);
  }
}

function statementIn(text: string): number | undefined {
  return firstOutside(
    text,
    (at) => /^option\s+\(/.test(text.slice(at, at + 40)) && /[\s{;}]/.test(text[at - 1] ?? "\n"),
  );
}

function bracketIn(text: string): number | undefined {
  return firstOutside(text, (at) => text[at] === "[");
}

function entriesOf(list: string): readonly string[] {
  const entries: string[] = [];
  let from = 0;
  while (from < list.length) {
    const end = endOf(`${list},`, from, ",");
    entries.push(list.slice(from, end).trim());
    from = end + 1;
  }
  return entries.filter((entry) => entry !== "");
}

/** The place of `mark` outside of strings, comments and brackets that open after `start`. */
function endOf(text: string, start: number, mark: string): number {
  let depth = 0;
  const end = firstOutside(
    text,
    (at) => {
      const character = text[at] ?? "";
      if (depth === 0 && character === mark) return true;
      if ("{[(".includes(character)) depth++;
      if ("}])".includes(character)) depth--;
      return false;
    },
    start,
  );
  if (end === undefined) throw new Error(`A proto has no ${mark} for: ${text.slice(start, start + 60)}`);
  return end;
}

/** The first place from `start` on that is neither in a string nor in a comment and that `is` accepts. */
function firstOutside(text: string, is: (at: number) => boolean, start = 0): number | undefined {
  for (let at = start; at < text.length; at++) {
    const skipped = /^(?:\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')/.exec(
      "/\"'".includes(text[at] ?? "") ? text.slice(at) : "",
    );
    if (skipped) at += skipped[0].length - 1;
    else if (is(at)) return at;
  }
  return undefined;
}
