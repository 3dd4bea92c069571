/** A row of the table of folders. */
export interface Folder {
  readonly name: string;
  readonly mayImport: ReadonlySet<string>;
}

/** What docs/architecture.md and docs/running-parts.md allow. They are the only places that say it. */
export interface ArchitectureMap {
  /** Folders of src/ by name, from the highest to the lowest. */
  readonly folders: ReadonlyMap<string, Folder>;
  /** Sub-folders that other folders may import, as `src/store/embedded`. */
  readonly openFolders: ReadonlySet<string>;
  /** Files that may call `Sensitive.reveal`. */
  readonly revealingFiles: ReadonlySet<string>;
  /** What is wrong with the document itself. */
  readonly problems: readonly string[];
}

/** From the root of the repository. */
export const DOCUMENT = "docs/architecture.md";
/** Has the table of files that open secrets. */
export const SECRETS_DOCUMENT = "docs/running-parts.md";
/** Folders beside src/ that a row may allow. */
const OUTSIDE: ReadonlySet<string> = new Set(["gen", "clients"]);
const EVERY_FOLDER_BELOW = "every folder below";
const OPEN_FOLDERS = /^Open to other folders: (.*?)\.$/ms;

/** Reads the tables of both documents. */
export function parseMap(text: string, secrets: string): ArchitectureMap {
  const rows = rowsOf(sectionOf(text, "Folders and layers")).flatMap(([, folder = "", , mayImport = ""]) => {
    const [name] = pathsIn(folder);
    return name === undefined ? [] : [{ name: name.replace(/^src\/|\/$/g, ""), mayImport }];
  });
  const names = rows.map(({ name }) => name);
  const problems: string[] = [];
  const folders = new Map<string, Folder>();
  for (const [index, { name, mayImport }] of rows.entries()) {
    const below = names.slice(index + 1);
    const listed = mayImport === EVERY_FOLDER_BELOW ? [...below, "gen"] : codesIn(mayImport);
    for (const target of listed) {
      if (OUTSIDE.has(target) || below.includes(target)) continue;
      problems.push(`${DOCUMENT}: the row of ${name} allows ${target}, which is no folder in a row below it`);
    }
    folders.set(name, { name, mayImport: new Set(listed) });
  }
  const open = OPEN_FOLDERS.exec(text)?.[1] ?? "";
  const revealing = rowsOf(sectionOf(secrets, "Where secrets are opened")).flatMap(([, files = ""]) => pathsIn(files));
  return {
    folders,
    problems,
    openFolders: new Set(pathsIn(open).map((path) => path.replace(/\/$/, ""))),
    revealingFiles: new Set(revealing),
  };
}

function sectionOf(text: string, heading: string): string {
  const [, rest = ""] = text.split(`\n## ${heading}\n`);
  return rest.split("\n## ")[0] ?? "";
}

/** The cells of a table's rows. */
function rowsOf(section: string): readonly (readonly string[])[] {
  return section
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
}

function codesIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

function pathsIn(text: string): readonly string[] {
  return codesIn(text).filter((code) => code.startsWith("src/"));
}
