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
  const paths = globSync("src/**/*.ts", { cwd: root }).map((path) => path.split("\\").join("/"));
  return paths.sort().map((path) => readSourceFile(path, readFileSync(join(root, path), "utf8")));
}

function readSourceFile(path: string, text: string): SourceFile {
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
      .map(({ value, start }) => ({
        target: posix.join(dirname(path), value).replace(/\.js$/, ".ts"),
        line: lineOf(start),
      })),
    functions: functionsOf(program).map(({ start, end }) => ({
      line: lineOf(start),
      lines: lineOf(end) - lineOf(start) + 1,
    })),
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

function functionsOf(program: Program): readonly Node[] {
  const found: Node[] = [];
  const add = (node: Node) => {
    found.push(node);
  };
  new Visitor({ FunctionDeclaration: add, FunctionExpression: add, ArrowFunctionExpression: add }).visit(program);
  return found;
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
