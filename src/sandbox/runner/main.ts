import { once } from "node:events";
import { createServer, Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { readGuestImage } from "../engine/quickjs/guest-image.js";
import { type Frame, FrameKind } from "../wire/frame.js";
import { FrameSocket } from "../wire/frame-socket.js";
import { Runner } from "./runner.js";
import type { RunnerSettings } from "./settings.js";

/**
 * The runner process. Beside its files it has a socket to the service on descriptor 3, and ends with that socket.
 * Further processes of the service connect to a local socket that only this user may open.
 */

/** The largest frames of the service are arguments of 10 MB with a host's response. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** This file is bundled into the directory of all files that it reads. */
const image = fileURLToPath(new URL(".", import.meta.url));

/** The folder of the packages that tenants' code may require, where they are installed. */
const [, , packages] = process.argv;

let runner: Runner | undefined;

async function configure(settings: RunnerSettings): Promise<void> {
  runner = new Runner(settings, await readGuestImage(image, packages), `${image}worker.js`);
  await runner.begin();
  if (settings.socketPath !== undefined) await listen(settings.socketPath, runner);
  socket.send(FrameKind.ready);
}

async function listen(path: string, shared: Runner): Promise<void> {
  process.umask(0o177);
  const server = createServer((connection) => {
    const process = new FrameSocket(connection, MAX_FRAME_BYTES, {
      onFrame: (frame) => shared.receive(process, frame),
      onEnd: () => shared.forget(process),
    });
    process.send(FrameKind.ready);
  }).listen(path);
  await once(server, "listening");
}

function receive(frame: Frame): void {
  if (frame.kind !== FrameKind.configure) {
    runner?.receive(socket, frame);
    return;
  }
  // Its rejection is not handled: Node writes it for runner-diagnosis.ts, and ends the process.
  void configure(JSON.parse(frame.payload.toString("utf8")));
}

const socket = new FrameSocket(new Socket({ fd: 3 }), MAX_FRAME_BYTES, {
  onFrame: receive,
  onEnd: () => process.exit(0),
});
