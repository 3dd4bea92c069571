import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";

/** The commands of a page of documentation, typed into one shell, block by block, as a reader does. */
export class WalkThrough {
  readonly #blocks: readonly string[];
  readonly #variables: Map<string, string>;
  readonly #directory: string;
  #next = 0;

  /**
   * @param variables what the page asks its reader to set first.
   * @param baseUrl replaces http://127.0.0.1:8080, where a first start listens.
   * @param directory in which its commands run, with the files that they name.
   */
  constructor(
    page: string,
    variables: Readonly<Record<string, string>>,
    baseUrl = "http://127.0.0.1:8080",
    directory = ".",
  ) {
    const text = readFileSync(page, "utf8").replaceAll("http://127.0.0.1:8080", baseUrl);
    this.#blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block ?? "");
    this.#variables = new Map(Object.entries(variables));
    this.#directory = directory;
  }

  get isAtEnd(): boolean {
    return this.#next === this.#blocks.length;
  }

  /** Returns the next block as written. */
  get next(): string {
    return this.#blocks[this.#next] ?? "";
  }

  /** Moves past the next block without typing it. */
  advance(): void {
    this.#next += 1;
  }

  variable(name: string): string | undefined {
    return this.#variables.get(name);
  }

  /**
   * Types the next block and returns its output. In `export NAME=...` the reader fills in part of an earlier output;
   * `filledIn` supplies it.
   */
  async type(filledIn: (name: string, printed: string) => string = () => ""): Promise<string> {
    const block = this.#blocks[this.#next];
    if (block === undefined) throw new Error("the page has no more commands");
    this.#next += 1;
    let printed = "";
    for (const piece of block.split(/^(?=export \w+=\.\.\.)/m)) {
      const [, name, rest = piece] = /^export (\w+)=\.\.\.[^\n]*\n([\s\S]*)$/.exec(piece) ?? [];
      if (name !== undefined) this.#variables.set(name, filledIn(name, printed));
      printed = await this.#run(rest);
    }
    return printed;
  }

  async #run(commands: string): Promise<string> {
    const set = [...this.#variables].map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`);
    const marker = "--- variables ---";
    // `declare -p` would quote values in one of three ways; env separates them by NUL.
    const script = `set -eua -o pipefail\n${set.join("\n")}\n${commands}\necho; echo '${marker}'; env -0`;
    const said = await new Promise<string>((resolve, reject) => {
      execFile("bash", ["-c", script], { cwd: this.#directory }, (error, stdout, stderr) =>
        error ? reject(new Error(`${commands}\n${stderr}`)) : resolve(stdout),
      );
    });
    const [printed = "", environment = ""] = said.split(`\n${marker}\n`);
    for (const entry of environment.split("\0")) {
      const [, name, value] = /^([A-Z_]+)=([\s\S]*)$/.exec(entry) ?? [];
      if (name !== undefined && value !== undefined && process.env[name] === undefined)
        this.#variables.set(name, value);
    }
    return printed.trim();
  }
}
