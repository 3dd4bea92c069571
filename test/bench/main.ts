import { type ChildProcess, spawn } from "node:child_process";
import { create, toBinary } from "@bufbuild/protobuf";
import { CreateTokenRequestSchema, GetTokenRequestSchema } from "../../gen/cloakroom/v1/tokens_pb.js";
import { toValue } from "../../src/services/value.js";
import { type BenchServer, startBenchServer } from "./bench-server.js";
import type { LoadRequest } from "./load.js";
import { type Measurement, measure, type Plan, type Target } from "./measure.js";

const JSON_TYPE = { "Content-Type": "application/json" };
const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" };

const results: Measurement[] = [];
const say = (line: string) => void process.stdout.write(`${line}\n`);

async function run(target: Target | BenchServer, plan: Plan): Promise<Measurement> {
  const result = await measure(target, plan);
  results.push(result);
  say(show(result));
  return result;
}

function show({ operation, requestsPerSecond, p50, p99, serverUs, databaseUs, failures }: Measurement): string {
  const cells = [
    operation.padEnd(44),
    requestsPerSecond.toFixed(0).padStart(7),
    p50.toFixed(2).padStart(8),
    p99.toFixed(2).padStart(8),
    serverUs.toFixed(0).padStart(7),
    databaseUs.toFixed(0).padStart(7),
    failures === 0 ? "" : `  ${failures} failed`,
  ];
  return cells.join(" ");
}

async function startEcho(): Promise<{ target: Target; process: ChildProcess }> {
  const echo = spawn(process.execPath, ["dist/test/bench/echo-server.js"], { stdio: ["ignore", "ignore", "pipe"] });
  const port = await new Promise<number>((resolve) => {
    echo.stderr?.on("data", (chunk: Buffer) => resolve(Number(/:(\d+)/.exec(chunk.toString())?.[1])));
  });
  return { target: { host: "127.0.0.1", port, pid: echo.pid ?? 0 }, process: echo };
}

async function post(server: BenchServer, path: string, key: string, body: unknown) {
  const response = await fetch(`http://${server.host}:${server.port}${path}`, {
    method: "POST",
    headers: { ...JSON_TYPE, "BT-API-KEY": key },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return JSON.parse(await response.text());
}

say(
  `${"operation".padEnd(44)} ${"req/s".padStart(7)} ${"p50 ms".padStart(8)} ${"p99 ms".padStart(8)} ${"srv us".padStart(7)} ${"db us".padStart(7)}`,
);

const echo = await startEcho();
const createBody = Buffer.from(JSON.stringify({ type: "card", data: CARD }));
await run(echo.target, {
  operation: "floor: Fastify JSON echo",
  protocol: "http1",
  connections: 32,
  expect: 200,
  request: (): LoadRequest => ({ method: "POST", path: "/", headers: JSON_TYPE, body: createBody }),
});
echo.process.kill("SIGTERM");

await using server = await startBenchServer();
const rules = [
  {
    priority: 1,
    container: "/",
    transform: "reveal",
    permissions: ["token:create", "token:read", "token:search", "token:delete", "token:use"],
  },
];
const { key } = await post(server, "/applications", server.managementKey, { name: "Bench", type: "private", rules });
const auth = { "BT-API-KEY": key };

await run(server, {
  operation: "POST /tokens (card)",
  protocol: "http1",
  connections: 32,
  expect: 201,
  request: () => ({ method: "POST", path: "/tokens", headers: { ...auth, ...JSON_TYPE }, body: createBody }),
});

const ids: string[] = [];
for (let batch = 0; batch < 20; batch += 1) {
  const items = await post(
    server,
    "/tokenize",
    key,
    Array.from({ length: 100 }, () => ({ type: "card", data: CARD })),
  );
  ids.push(...items.map(({ id }: { id: string }) => id));
}
const idOf = (n: number) => ids[(n * 7919) % ids.length] ?? "";

await run(server, {
  operation: "GET /tokens/{id}, reveal",
  protocol: "http1",
  connections: 32,
  expect: 200,
  request: (n) => ({ method: "GET", path: `/tokens/${idOf(n)}`, headers: auth }),
});

const rpcAuth = { "bt-api-key": key };
const createMessage = Buffer.from(
  toBinary(CreateTokenRequestSchema, create(CreateTokenRequestSchema, { type: "card", data: toValue(CARD) })),
);
await run(server, {
  operation: "CreateToken over gRPC",
  protocol: "grpc",
  connections: 32,
  expect: 0,
  request: () => ({
    method: "POST",
    path: "/cloakroom.v1.TokenService/CreateToken",
    headers: rpcAuth,
    body: createMessage,
  }),
});
await run(server, {
  operation: "GetToken over gRPC",
  protocol: "grpc",
  connections: 32,
  expect: 0,
  request: (n) => ({
    method: "POST",
    path: "/cloakroom.v1.TokenService/GetToken",
    headers: rpcAuth,
    body: Buffer.from(toBinary(GetTokenRequestSchema, create(GetTokenRequestSchema, { id: idOf(n) }))),
  }),
});

const leaves = Buffer.from(JSON.stringify(Array.from({ length: 100 }, (_, n) => `value ${n}`)));
await run(server, {
  operation: "POST /tokenize, 100 leaves",
  protocol: "http1",
  connections: 1,
  expect: 200,
  request: () => ({ method: "POST", path: "/tokenize", headers: { ...auth, ...JSON_TYPE }, body: leaves }),
});
