import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { type Node, type Program, parseSync, Visitor } from "oxc-parser";

/** An import, export or `import()` of another file of the project, also of its types alone. */
export interface Import {
  /** From the root of the repository, with slashes: `src/store/wire/frame.ts`. */
  readonly target: string;
  readonly line: number;
}

export interface FunctionSpan {
  readonly line: number;
  readonly lines: number;
}

/** What the rules look at in one file. */
export interface SourceFile {
  readonly path: string;
  readonly imports: readonly Import[];
  readonly functions: readonly FunctionSpan[];
  /** Lines that name a property `reveal`, as calls of `Sensitive.reveal` do. */
  readonly revealLines: readonly number[];
}

/** Reads every TypeScript file of src/. @throws {Error} for one that cannot be parsed. */
export function readSourceFiles(root: string): readonly SourceFile[] {
  const paths = globSync("src/**/*.{ts,tsx}", { cwd: root }).map((path) => path.split("\\").join("/"));
  const all = new Set(paths);
  return paths.sort().map((path) => parseSourceFile(path, readFileSync(join(root, path), "utf8"), all));
}

/** Sources import each other under the names that they have after the build: `./x.js` for x.ts and x.tsx. */
function targetOf(path: string, specifier: string, paths: ReadonlySet<string>): string {
  const target = posix.join(dirname(path), specifier);
  const name = target.replace(/\.js$/, "");
  return name !== target && paths.has(`${name}.tsx`) ? `${name}.tsx` : target.replace(/\.js$/, ".ts");
}

/** Parses one file; `paths` are those of all files. @throws {Error} if it cannot be parsed. */
export function parseSourceFile(path: string, text: string, paths: ReadonlySet<string>): SourceFile {
  const { program, module, errors } = parseSync(path, text);
  const [error] = errors;
  if (error) throw new Error(`${path}: ${error.message}`);
  const lineOf = lineFinder(text);
  const requests = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest }) => moduleRequest ?? [])),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => ({
      start,
      value: text.slice(start + 1, end - 1),
    })),
    ...importTypesOf(program),
  ];
  return {
    path,
    imports: requests
      .filter(({ value }) => value.startsWith("."))
      .map(({ value, start }) => ({ target: targetOf(path, value, paths), line: lineOf(start) })),
    functions: functionsOf(program).map(({ start, end, classes }) => {
      const linesOf = (node: Range) => lineOf(node.end) - lineOf(node.start) + 1;
      const inClasses = classes.reduce((sum, node) => sum + linesOf(node), 0);
      return { line: lineOf(start), lines: linesOf({ start, end }) - inClasses };
    }),
    revealLines: revealsOf(program).map(({ start }) => lineOf(start)),
  };
}

/** `import("./file.js").Type` */
function importTypesOf(program: Program): readonly { readonly value: string; readonly start: number }[] {
  const found: { value: string; start: number }[] = [];
  new Visitor({
    TSImportType: ({ source }) => {
      found.push({ value: source.value, start: source.start });
    },
  }).visit(program);
  return found;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Functions, each with the classes in it, whose methods count by themselves. */
function functionsOf(program: Program): readonly (Range & { readonly classes: readonly Range[] })[] {
  const functions: Range[] = [];
  const classes: Range[] = [];
  const addFunction = (node: Node) => {
    functions.push(node);
  };
  const addClass = (node: Node) => {
    classes.push(node);
  };
  new Visitor({
    FunctionDeclaration: addFunction,
    FunctionExpression: addFunction,
    ArrowFunctionExpression: addFunction,
    ClassDeclaration: addClass,
    ClassExpression: addClass,
  }).visit(program);
  const isIn = (inner: Range, outer: Range) => inner !== outer && inner.start >= outer.start && inner.end <= outer.end;
  return functions.map((node) => {
    const inside = classes.filter((one) => isIn(one, node));
    return {
      start: node.start,
      end: node.end,
      classes: inside.filter((one) => !inside.some((other) => isIn(one, other))),
    };
  });
}

/** `value.reveal`, `value["reveal"]` and `const { reveal } = value`. */
function revealsOf(program: Program): readonly Node[] {
  const found: Node[] = [];
  new Visitor({
    MemberExpression: ({ property }) => {
      if (nameOf(property) === "reveal") found.push(property);
    },
    ObjectPattern: ({ properties }) => {
      for (const property of properties)
        if (property.type === "Property" && nameOf(property.key) === "reveal") found.push(property);
    },
  }).visit(program);
  return found;
}

function nameOf(node: Node): unknown {
  if (node.type === "Identifier") return node.name;
  return node.type === "Literal" ? node.value : undefined;
}

/** Line numbers, from 1, of offsets. */
function lineFinder(text: string): (offset: number) => number {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}
