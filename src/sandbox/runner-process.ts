import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../base/package-files.js";
import type { RunnerSettings } from "./runner/settings.js";
import { type Frame, FrameKind } from "./wire/frame.js";
import { FrameSocket } from "./wire/frame-socket.js";

/** The runner built by `npm run build`. */
const image = fileURLToPath(packageFile("dist/sandbox/"));

/** The largest frame of a runner is a value of 5 MB with its console. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024;

export interface RunnerHooks {
  readonly onFrame: (frame: Frame) => void;
  /** Called once, as the last callback. `broke`: it violated the protocol. */
  readonly onExit: (exit: {
    readonly code: number | null;
    readonly signal: string | null;
    readonly broke: boolean;
  }) => void;
}

/**
 * One life of the runner: a child process without keys, database or environment. It may read only its own files; Node
 * denies it everything else that can be denied (other files, processes, native code, code from strings, the debugger).
 */
export class RunnerProcess {
  readonly #child: ChildProcess;
  readonly #socket: FrameSocket;
  #broke = false;

  constructor(settings: RunnerSettings, hooks: RunnerHooks) {
    // Left by a killed runner. The next one may not remove files.
    if (settings.socketPath !== undefined) rmSync(settings.socketPath, { force: true });
    this.#child = spawn(process.execPath, [...flags(), `${image}runner.js`], {
      cwd: image,
      env: {},
      // Its own group and session: terminal signals reach the service only, which ends the runner itself.
      detached: true,
      windowsHide: true,
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    const channel = this.#child.stdio[3];
    if (!(channel instanceof Socket)) throw new Error("the runner was started without a socket");
    this.#socket = new FrameSocket(channel, MAX_FRAME_BYTES, {
      onFrame: hooks.onFrame,
      onEnd: ({ broke }) => {
        this.#broke = broke;
        this.kill();
      },
    });
    this.#child.once("error", () => hooks.onExit({ code: null, signal: null, broke: false }));
    this.#child.once("exit", (code, signal) => hooks.onExit({ code, signal, broke: this.#broke }));
    this.#socket.send(FrameKind.configure, undefined, Buffer.from(JSON.stringify(settings)));
  }

  get socket(): FrameSocket {
    return this.#socket;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

function flags(): string[] {
  const piscina = dirname(dirname(createRequire(import.meta.url).resolve("piscina")));
  return [
    "--permission",
    "--allow-worker",
    `--allow-fs-read=${image}`,
    `--allow-fs-read=${piscina}`,
    "--disallow-code-generation-from-strings",
    "--disable-sigusr1",
    "--no-addons",
    "--max-old-space-size=256",
  ];
}
