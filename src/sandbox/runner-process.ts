import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../base/package-files.js";
import type { RunnerSettings } from "./runner/settings.js";
import { type Frame, FrameKind } from "./wire/frame.js";
import { FrameSocket } from "./wire/frame-socket.js";

/**
 * The runner built by `npm run build`. By its real path: Node grants a path as it is written, and looks up what it reads
 * by real paths, which differ where a folder is a symbolic link.
 */
const image = `${realpathSync(fileURLToPath(packageFile("dist/sandbox/")))}/`;

/** The largest frame of a runner is a value of 5 MB with its console. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024;

export interface RunnerHooks {
  readonly onFrame: (frame: Frame) => void;
  /** Called once, as the last callback. */
  readonly onExit: (exit: RunnerExit) => void;
}

export interface RunnerExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** It violated the protocol. */
  readonly broke: boolean;
  /** Why it did not start, from its first error, if that is read. */
  readonly cause: string | undefined;
}

/** What is kept of the errors of a runner that does not start. */
const MAX_ERROR_CHARACTERS = 8_192;

/**
 * One life of the runner: a child process without keys, database or environment. It may read only its own files; Node
 * denies it everything else that can be denied (other files, processes, native code, code from strings, the debugger).
 */
export class RunnerProcess {
  readonly #child: ChildProcess;
  readonly socket: FrameSocket;
  readonly #onExit: RunnerHooks["onExit"];
  #broke = false;
  #hasEnded = false;
  #errors = "";

  /** @param told "with errors": it also inherits a pipe for its errors, and must not serve. */
  constructor(settings: RunnerSettings, hooks: RunnerHooks, told: "alone" | "with errors" = "alone") {
    this.#onExit = hooks.onExit;
    // Left by a killed runner. The next one may not remove files.
    if (settings.socketPath !== undefined) rmSync(settings.socketPath, { force: true });
    this.#child = spawn(process.execPath, [...flags(), `${image}runner.js`, ...packagesFolder()], {
      cwd: image,
      env: {},
      // Its own group and session: terminal signals reach the service only, which ends the runner itself.
      detached: true,
      windowsHide: true,
      stdio: ["ignore", "ignore", told === "alone" ? "ignore" : "pipe", "pipe"],
    });
    const channel = this.#child.stdio[3];
    if (!(channel instanceof Socket)) throw new Error("the runner was started without a socket");
    this.socket = new FrameSocket(channel, MAX_FRAME_BYTES, {
      onFrame: hooks.onFrame,
      onEnd: ({ broke }) => {
        this.#broke = broke;
        this.kill();
      },
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      // Read to the end: a full pipe would block the runner.
      this.#errors = (this.#errors + text).slice(0, MAX_ERROR_CHARACTERS);
    });
    // A process that runs also gets errors, such as one that cannot be killed. It ends with its exit.
    this.#child.on("error", (error) => {
      if (this.#child.pid === undefined) this.#end({ code: null, signal: null, cause: error.message });
    });
    this.#child.once(told === "alone" ? "exit" : "close", (code: number | null, signal: string | null) =>
      this.#end({ code, signal, cause: causeIn(this.#errors) }),
    );
    this.socket.send(FrameKind.configure, undefined, Buffer.from(JSON.stringify(settings)));
  }

  /** Node may report an exit after the error of a process that did not start. */
  #end(exit: Omit<RunnerExit, "broke">): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onExit({ ...exit, broke: this.#broke });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

/** The message of the error that ended the process, with the file that it could not read. */
function causeIn(errors: string): string | undefined {
  const message = /^(?:\w*Error\b.*|node: .*)/m.exec(errors)?.[0];
  const resource = /^\s*resource: '(?<path>.*)'/m.exec(errors)?.groups?.path;
  return resource === undefined ? message : `${message ?? "no access"} (${resource})`;
}

/** The folder of a package as Node finds it from here and, if that is a symbolic link, also the real one. */
function foldersOf(name: string): readonly string[] {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const found = folders.map((folder) => join(folder, name)).find((folder) => existsSync(folder));
  return found === undefined ? [] : [...new Set([found, realpathSync(found)])];
}

/**
 * The folder of the packages that tenants' code may require: the build's own, or that of the npm package which the
 * server's package installs as an option. Empty without either.
 */
function packagesFolder(): readonly string[] {
  if (existsSync(`${image}packages`)) return [`${image}packages`];
  const installed = foldersOf("@cloakroom/guest-packages").at(-1);
  return installed === undefined ? [] : [join(installed, "packages")];
}

function flags(): string[] {
  return [
    "--permission",
    // Node would ask for the real path of node_modules, which it may not read where that is a link: in the process,
    // and for the file that a thread begins with.
    "--preserve-symlinks",
    "--preserve-symlinks-main",
    "--allow-worker",
    `--allow-fs-read=${image}`,
    ...packagesFolder().map((folder) => `--allow-fs-read=${folder}`),
    ...foldersOf("piscina").map((folder) => `--allow-fs-read=${folder}`),
    "--disallow-code-generation-from-strings",
    "--disable-sigusr1",
    "--no-addons",
    "--max-old-space-size=256",
  ];
}
