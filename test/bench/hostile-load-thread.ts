import { parentPort, workerData } from "node:worker_threads";
import { HOSTILE_LOADS, type LoadTarget } from "./hostile-loads.js";

// A thread of its own: the quiet caller would wait for its own process otherwise.
const { target, index }: { readonly target: LoadTarget; readonly index: number } = workerData;
await HOSTILE_LOADS[index]?.start(target);
parentPort?.postMessage("started");
