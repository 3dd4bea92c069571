import type { Worker } from "node:cluster";

interface Handle {
  close(): void;
}

/**
 * Closes the connections that a process was given and had not accepted when it ended. node:cluster (24.x) waits for its
 * response for good: the client would wait for a response as long, although it could send its request again at once.
 */
export function closeUnacceptedAtEnd(worker: Worker): void {
  const child = worker.process;
  const unaccepted = new Map<unknown, Handle>();
  let isGone = false;
  const send = child.send;
  // There is no event for a connection that is passed on.
  Object.defineProperty(child, "send", {
    configurable: true,
    writable: true,
    value(...sent: readonly unknown[]): unknown {
      const [message, handle] = sent;
      if (columnValue(message, "act") === "newconn" && isHandle(handle)) {
        if (isGone) return handle.close();
        unaccepted.set(columnValue(message, "seq"), handle);
      }
      return Reflect.apply(send, child, sent);
    },
  });
  child.on("internalMessage", (message: unknown) => unaccepted.delete(columnValue(message, "ack")));
  // A channel with such a connection is not closed at the end of its process. The second immediate runs once the event
  // loop has read what the process sent before it ended: the connections that it handed back are passed on.
  const closeAll = () => {
    isGone = true;
    for (const handle of unaccepted.values()) handle.close();
    unaccepted.clear();
  };
  child.once("exit", () => setImmediate(() => setImmediate(closeAll)));
}

function columnValue(message: unknown, name: string): unknown {
  return typeof message === "object" && message !== null ? Reflect.get(message, name) : undefined;
}

function isHandle(value: unknown): value is Handle {
  return typeof value === "object" && value !== null && "close" in value && typeof value.close === "function";
}
