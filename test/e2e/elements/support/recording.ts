import type { DevTools } from "./devtools.js";

export interface SentRequest {
  /** The address of the document that sent it. */
  readonly from: string;
  readonly url: string;
  readonly body: string;
  /** Everything but the body, as text. */
  readonly head: string;
}

/** What all pages, frames and workers of a browser sent and wrote to the console. */
export interface Recording {
  readonly requests: readonly SentRequest[];
  readonly console: readonly string[];
  /** The session of the target whose address contains this text. */
  sessionOf(address: string): Promise<string>;
}

/** Records from now on. Each target waits until it is recorded. */
export async function record(devTools: DevTools): Promise<Recording> {
  const requests: SentRequest[] = [];
  const texts: string[] = [];
  const targets = new Map<string, string>();
  const attach = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };
  devTools.on("Target.attachedToTarget", async ({ sessionId: id, targetInfo }) => {
    const sessionId = String(id);
    targets.set(sessionId, String(Object(targetInfo).targetId));
    const start = (method: string, params = {}) => devTools.send(method, params, sessionId).catch(() => {});
    await Promise.all([
      ...["Network.enable", "Runtime.enable", "Log.enable"].map((method) => start(method)),
      start("Target.setAutoAttach", attach),
    ]);
    await start("Runtime.runIfWaitingForDebugger");
  });
  devTools.on("Target.detachedFromTarget", ({ sessionId }) => targets.delete(String(sessionId)));
  devTools.on("Network.requestWillBeSent", (event) => {
    const { url, postData = "", postDataEntries: _, ...rest } = Object(event.request);
    const head = JSON.stringify({ ...event, request: { url, ...rest } });
    requests.push({ from: String(event.documentURL), url, body: postData, head });
  });
  for (const sent of ["Network.webSocketFrameSent", "Network.requestWillBeSentExtraInfo"]) {
    devTools.on(sent, (event) => requests.push({ from: "", url: sent, body: "", head: JSON.stringify(event) }));
  }
  for (const written of ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"]) {
    devTools.on(written, (event) => texts.push(JSON.stringify(event)));
  }
  await devTools.send("Target.setAutoAttach", attach);
  return {
    requests,
    console: texts,
    async sessionOf(address) {
      const { targetInfos } = await devTools.send("Target.getTargets");
      const infos: readonly { targetId: string; url: string }[] = Object(targetInfos);
      const ids = new Set(infos.filter(({ url }) => url.includes(address)).map(({ targetId }) => targetId));
      const found = [...targets].find(([, targetId]) => ids.has(targetId));
      if (!found) throw new Error(`no target has ${address} in its address`);
      return found[0];
    },
  };
}

/** The strings on the heap of a target's renderer, after a collection. */
export async function heapStrings(devTools: DevTools, sessionId: string): Promise<readonly string[]> {
  const chunks: string[] = [];
  const stop = devTools.on("HeapProfiler.addHeapSnapshotChunk", ({ chunk }, from) => {
    if (from === sessionId) chunks.push(String(chunk));
  });
  await devTools.send("HeapProfiler.collectGarbage", {}, sessionId);
  await devTools.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false }, sessionId);
  stop();
  const { strings } = JSON.parse(chunks.join(""));
  return strings;
}
