import { dirname } from "node:path";
import { circlesIn } from "./circles.js";
import type { ArchitectureMap } from "./map.js";
import type { Import, SourceFile } from "./source-files.js";

/** Lines of a function. A longer one reads better in parts. */
const MAX_LINES = 60;

type Files = readonly SourceFile[];

/** Everything in which the files differ from the document, and the document from itself; a line for each. */
export function architectureProblems(files: Files, map: ArchitectureMap): readonly string[] {
  return [
    ...map.problems,
    ...unknownFolders(files, map),
    ...forbiddenImports(files, map),
    ...circles(files),
    ...forbiddenReveals(files, map),
    ...longFunctions(files),
  ];
}

/** Imports go where docs/architecture.md lets their folder go. `src/main.ts` may import anything. */
function forbiddenImports(files: Files, { folders, openFolders }: ArchitectureMap): readonly string[] {
  return eachImport(files, ({ path }, { target, line }) => {
    const place = `${path}:${line}`;
    if (!target.startsWith("src/")) {
      const [outside = ""] = target.split("/");
      if (folders.get(folderOf(path))?.mayImport.has(outside)) return [];
      return [`${place} imports ${target}, which src/${folderOf(path)}/ may not import`];
    }
    const [from, to] = [folderOf(path), folderOf(target)];
    if (from === to || from === "") return [];
    if (!folders.get(from)?.mayImport.has(to)) return [`${place} imports ${target}: ${from} may not import ${to}`];
    const isPrivate = target.split("/").length > 3 && !openFolders.has(dirname(target));
    return isPrivate ? [`${place} imports ${target}, which is private to src/${to}/`] : [];
  });
}

/** Every folder of src/ has a row, and every row a folder. */
function unknownFolders(files: Files, { folders, openFolders }: ArchitectureMap): readonly string[] {
  const found = new Set(files.map(({ path }) => folderOf(path)).filter((name) => name !== ""));
  const subFolders = new Set(files.map(({ path }) => dirname(path)));
  return [
    ...files
      .filter(({ path }) => folderOf(path) === "" && path !== "src/main.ts")
      .map(({ path }) => `${path} lies in no folder`),
    ...[...found].filter((name) => !folders.has(name)).map((name) => `src/${name}/ has no row in docs/architecture.md`),
    ...[...folders.keys()]
      .filter((name) => !found.has(name))
      .map((name) => `docs/architecture.md lists src/${name}/, which does not exist`),
    ...[...openFolders]
      .filter((path) => !subFolders.has(path))
      .map((path) => `docs/architecture.md opens ${path}/, which does not exist`),
  ];
}

/** No files import each other in a circle, also through types alone; nor do folders side by side, at any depth. */
function circles(files: Files): readonly string[] {
  const byFile = new Map(files.map(({ path, imports }) => [path, new Set(imports.map(({ target }) => target))]));
  const byFolder = new Map<string, Set<string>>();
  for (const { path, imports } of files) {
    for (const { target } of imports) {
      const [from, to] = siblingsOf(path, target);
      if (from === to || from === "" || to === "") continue;
      byFolder.set(from, (byFolder.get(from) ?? new Set()).add(to));
    }
  }
  return [
    ...circlesIn(byFile).map((circle) => `files import each other in a circle: ${circle.join(", ")}`),
    ...circlesIn(byFolder).map((circle) => `folders import each other in a circle: ${circle.join(", ")}`),
  ];
}

/** Secrets are opened in the listed files only. */
function forbiddenReveals(files: Files, { revealingFiles }: ArchitectureMap): readonly string[] {
  const revealing = new Set(files.filter(({ revealLines }) => revealLines.length > 0).map(({ path }) => path));
  return [
    ...files
      .filter(({ path }) => !revealingFiles.has(path))
      .flatMap(({ path, revealLines }) =>
        revealLines.map(
          (line) =>
            `${path}:${line} opens a Sensitive value: add the file, with a reason, to "Where secrets are opened" in docs/running-parts.md, or do without`,
        ),
      ),
    ...[...revealingFiles]
      .filter((path) => !revealing.has(path))
      .map((path) => `docs/running-parts.md lets ${path} open secrets, which it does not`),
  ];
}

function longFunctions(files: Files): readonly string[] {
  return files.flatMap(({ path, functions }) =>
    functions
      .filter(({ lines }) => lines > MAX_LINES)
      .map(({ line, lines }) => `${path}:${line} has a function of ${lines} lines; ${MAX_LINES} are allowed`),
  );
}

function eachImport(files: Files, check: (file: SourceFile, one: Import) => readonly string[]): readonly string[] {
  return files.flatMap((file) => file.imports.flatMap((one) => check(file, one)));
}

/** The folder of src/ that a file is in; empty for a file of src/ itself. */
function folderOf(path: string): string {
  const parts = path.split("/");
  return parts.length > 2 ? (parts[1] ?? "") : "";
}

/** The folders of two files below the folder that holds both; empty where a file lies in that folder itself. */
function siblingsOf(one: string, other: string): readonly [string, string] {
  const [a, b] = [dirname(one).split("/"), dirname(other).split("/")];
  const differs = a.findIndex((part, index) => part !== b[index]);
  if (differs < 0 || differs >= b.length) return ["", ""];
  return [a.slice(0, differs + 1).join("/"), b.slice(0, differs + 1).join("/")];
}
