import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { readWorld } from "../engine/quickjs/world.js";
import { type Frame, FrameKind } from "../wire/frame.js";
import { FrameSocket } from "../wire/frame-socket.js";
import { Runner } from "./runner.js";
import type { RunnerSettings } from "./settings.js";

/**
 * The runner process. Beside its files it has one handle: a socket to the service on descriptor 3. When that ends, so
 * does the process.
 */

/** Arguments of 10 MB and an answer of the host are the largest that the service sends. */
const MOST_FRAME_BYTES = 64 * 1024 * 1024;

/** This file is bundled into the directory that holds all the files it reads. */
const image = fileURLToPath(new URL(".", import.meta.url));

let runner: Runner | undefined;

async function configure(settings: RunnerSettings): Promise<void> {
  runner = new Runner(socket, settings, await readWorld(image), `${image}worker.js`);
  socket.send(FrameKind.ready);
}

function receive(frame: Frame): void {
  if (frame.kind !== FrameKind.configure) {
    runner?.receive(frame);
    return;
  }
  configure(JSON.parse(frame.payload.toString("utf8"))).catch(() => process.exit(1));
}

const socket = new FrameSocket(new Socket({ fd: 3 }), MOST_FRAME_BYTES, {
  onFrame: receive,
  onEnd: () => process.exit(0),
});
