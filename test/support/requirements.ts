import { accessSync, constants, readdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The Debian packages of programs that test files may need. */
const PACKAGES: Readonly<Record<string, string>> = {
  "redis-server": "redis-server",
  pg_dump: "postgresql",
  pg_restore: "postgresql",
  chromium: "chromium",
  "firefox-esr": "firefox-esr",
  rsyslogd: "rsyslog rsyslog-openssl",
  haproxy: "haproxy",
  nginx: "nginx-light",
  curl: "curl",
  jq: "jq",
  script: "bsdutils",
};

/** A missing program, and the test files that need it. */
export interface Missing {
  readonly program: string;
  readonly files: readonly string[];
}

/**
 * The programs that the test files need and this machine lacks. A file names its programs in a line of its own: `//
 * Needs: curl, jq`.
 * @param root the folder that contains `test`.
 */
export function missingPrograms(root: string): readonly Missing[] {
  const files = new Map<string, string[]>();
  for (const file of testFiles(root)) {
    const [, programs = ""] = /^\/\/ Needs: (.+)$/m.exec(readFileSync(join(root, file), "utf8")) ?? [];
    for (const program of programs.split(", ").filter((name) => name !== "" && findProgram(name) === undefined)) {
      files.set(program, [...(files.get(program) ?? []), file]);
    }
  }
  return [...files].map(([program, needing]) => ({ program, files: needing }));
}

/** One line on the files that are skipped and how to run them. Undefined if there are none. */
export function skippedLine(missing: readonly Missing[]): string | undefined {
  if (missing.length === 0) return undefined;
  const files = new Set(missing.flatMap((each) => each.files));
  const programs = missing.map(({ program, files: needing }) => `${program} (${needing.length})`).join(", ");
  const packages = [...new Set(missing.map(({ program }) => PACKAGES[program] ?? program))].join(" ");
  return `Skipped: ${files.size} test ${files.size === 1 ? "file" : "files"}, because ${programs} is missing. On Debian: apt-get install ${packages}`;
}

/** The path of a program: `CHROMIUM` for the browser, otherwise from the PATH. */
export function findProgram(name: string): string | undefined {
  if (name === "chromium" && process.env.CHROMIUM) return process.env.CHROMIUM;
  const places = (process.env.PATH ?? "").split(delimiter).map((directory) => join(directory, name));
  return places.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function testFiles(root: string): string[] {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => join("test", path))
    .toSorted();
}
