import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { LoadRequest } from "./load.js";
import { type Measurement, measure } from "./measure.js";
import { CARD_BODY, JSON_TYPE } from "./token-requests.js";

/** The cost of HTTP alone: a bare Fastify server that parses our body and writes it back. */
export async function measureEcho(): Promise<Measurement> {
  const echo = spawn(process.execPath, ["dist/test/bench/echo-server.js"], { stdio: ["ignore", "ignore", "pipe"] });
  try {
    const target = { host: "127.0.0.1", port: await portOf(echo), pid: echo.pid ?? 0 };
    return await measure(target, {
      operation: "floor: Fastify JSON echo, 32 connections",
      protocol: "http1",
      connections: 32,
      expect: 200,
      request: (): LoadRequest => ({ method: "POST", path: "/", headers: JSON_TYPE, body: CARD_BODY }),
    });
  } finally {
    echo.kill("SIGTERM");
    await once(echo, "exit");
  }
}

/** The port that an echo server announces. */
export function portOf(echo: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    echo.stderr?.on("data", (chunk: Buffer) => resolve(Number(/:(\d+)/.exec(chunk.toString())?.[1])));
    echo.once("exit", (code) => reject(new Error(`the echo server ended with ${code}`)));
  });
}
