import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type Measurement, measure, type Plan } from "./measure.js";
import { CARD_BODY, createCardOverGrpc, JSON_TYPE } from "./token-requests.js";

/** The cost of HTTP alone: a bare Fastify server that parses our body and writes it back. */
export function measureEcho(): Promise<Measurement> {
  return measureFloor("dist/test/bench/echo-server.js", {
    operation: "floor: Fastify JSON echo, 32 connections",
    protocol: "http1",
    connections: 32,
    expect: 200,
    request: () => ({ method: "POST", path: "/", headers: JSON_TYPE, body: CARD_BODY }),
  });
}

/** The cost of gRPC alone: Node's bare HTTP/2 that writes our message back. */
export function measureGrpcEcho(): Promise<Measurement> {
  return measureFloor("dist/test/bench/grpc-echo-server.js", {
    operation: "floor: echo over Node's HTTP/2, 32 calls",
    protocol: "grpc",
    connections: 32,
    expect: 0,
    request: () => createCardOverGrpc(""),
  });
}

async function measureFloor(program: string, plan: Plan): Promise<Measurement> {
  const echo = spawn(process.execPath, [program], { stdio: ["ignore", "ignore", "pipe"] });
  try {
    const target = { host: "127.0.0.1", port: await portOf(echo), pid: echo.pid ?? 0 };
    return await measure(target, plan);
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
