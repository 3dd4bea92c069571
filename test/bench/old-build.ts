import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** A built checkout of another commit, removed at the end. */
export interface OldBuild extends Disposable {
  readonly directory: string;
}

/** Checks out a commit next to this one and builds it with the packages installed here. */
export function buildCommit(commit: string): OldBuild {
  const directory = join(mkdtempSync(join(tmpdir(), "cloakroom-old-")), "checkout");
  const git = (...words: string[]) => execFileSync("git", words, { stdio: "inherit" });
  git("worktree", "add", "--quiet", "--detach", directory, commit);
  const remove = () => {
    git("worktree", "remove", "--force", directory);
    rmSync(resolve(directory, ".."), { recursive: true, force: true });
  };
  try {
    symlinkSync(resolve("node_modules"), join(directory, "node_modules"));
    execFileSync("npm", ["run", "--silent", "build"], { cwd: directory, stdio: "inherit" });
  } catch (error) {
    remove();
    throw error;
  }
  return { directory, [Symbol.dispose]: remove };
}
