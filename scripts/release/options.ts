import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { ARTEFACTS } from "./artefacts.js";
import type { Source } from "./source.js";

export class ReleaseError extends Error {
  override readonly name = "ReleaseError";
}

export interface ReleaseOptions {
  readonly source: Source;
  /** The folder that is emptied and filled. */
  readonly out: string;
  /** Names of artefacts. Empty: all. */
  readonly only: readonly string[];
  /** The builder, as a URI in the provenance statement. */
  readonly builder: string;
  /** Lays out the server's files for a container, in place of artefacts. */
  readonly tree: boolean;
}

/** The packages whose version is that of the release. */
const VERSIONED = ["package.json", "clients/typescript/package.json", "clients/elements/package.json"];

export function readOptions(args: readonly string[]): ReleaseOptions {
  const { values } = parse(args);
  const only = (values.only ?? "").split(",").filter((name) => name !== "");
  const names = ARTEFACTS.map(({ name }) => name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new ReleaseError(`--only: there is no "${unknown}". There are: ${names.join(", ")}.`);
  const { version } = values;
  if (version === undefined) throw new ReleaseError("--version is missing: npm run release -- --version X");
  checkVersion(version);
  const source =
    values.commit === undefined ? committedSource(version, values["allow-changes"]) : given(version, values);
  return { source, out: values.out, only, builder: values.builder, tree: values.tree };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        version: { type: "string" },
        only: { type: "string" },
        out: { type: "string", default: "release" },
        builder: { type: "string", default: "urn:cloakroom:builder:checkout" },
        "allow-changes": { type: "boolean", default: false },
        tree: { type: "boolean", default: false },
        commit: { type: "string" },
        time: { type: "string", default: "0" },
      },
    });
  } catch (error) {
    throw new ReleaseError(error instanceof Error ? error.message : String(error));
  }
}

/** What is released says so in its sources: a package made from them later has the same version. */
function checkVersion(version: string): void {
  for (const file of VERSIONED) {
    const read: { version: string } = JSON.parse(readFileSync(file, "utf8"));
    if (read.version === version) continue;
    throw new ReleaseError(`${file} has version ${read.version}, not ${version}. Change and commit it first.`);
  }
}

function committedSource(version: string, allowChanges: boolean): Source {
  const changes = git("status", "--porcelain", "--untracked-files=no");
  if (changes !== "" && !allowChanges) {
    throw new ReleaseError(`These files differ from the commit, which the release names:\n${changes}`);
  }
  return { version, commit: git("rev-parse", "HEAD"), at: Number(git("show", "-s", "--format=%ct", "HEAD")) };
}

/** A container is built without the repository, which it gets named. */
function given(version: string, { commit = "", time }: { commit?: string; time: string }): Source {
  return { version, commit, at: Number(time) };
}

function git(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("git", args, { encoding: "utf8" });
  if (status !== 0) throw new ReleaseError(`git ${args[0]} failed: ${stderr.trim()}`);
  return stdout.trim();
}
