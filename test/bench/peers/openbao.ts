import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { JSON_TYPE } from "../token-requests.js";
import { freePort } from "../vault-process.js";
import { ask, type Peer, type RunningPeer, startPeer, textIn } from "./peer.js";

const CARD = { number: "4242424242424242", expiration_month: "12", expiration_year: "2030" };

/** OpenBao: `bao`, with its own storage (raft) on disk, and cards as secrets of its key-value engine. */
export const OPENBAO: Peer = {
  name: "openbao",
  program: "bao",
  async start(program, directory): Promise<RunningPeer> {
    const port = await freePort();
    const clusterPort = await freePort();
    const file = join(directory, "bao.hcl");
    writeFileSync(file, configuration(directory, port, clusterPort));
    await using stack = new AsyncDisposableStack();
    const { pid } = stack.use(await startPeer(program, ["server", `-config=${file}`], { cwd: directory, port }));
    const keys = await ask(port, "/v1/sys/init", { method: "PUT", body: { secret_shares: 1, secret_threshold: 1 } });
    await ask(port, "/v1/sys/unseal", { method: "PUT", body: { key: textIn(keys, "keys", 0) } });
    const headers = { ...JSON_TYPE, "X-Vault-Token": textIn(keys, "root_token") };
    await ask(port, "/v1/sys/mounts/cards", { headers, body: { type: "kv", options: { version: "1" } } });
    await ask(port, "/v1/cards/read", { headers, body: CARD });
    const body = Buffer.from(JSON.stringify(CARD));
    const owned = stack.move();
    return {
      target: { host: "127.0.0.1", port, pid },
      create: { expect: 204, request: (n) => ({ method: "POST", path: `/v1/cards/${n}`, headers, body }) },
      read: { expect: 200, request: () => ({ method: "GET", path: "/v1/cards/read", headers }) },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  },
};

function configuration(directory: string, port: number, clusterPort: number): string {
  return `
disable_mlock = true
api_addr = "http://127.0.0.1:${port}"
cluster_addr = "http://127.0.0.1:${clusterPort}"
storage "raft" {
  path = "${directory}"
  node_id = "bench"
}
listener "tcp" {
  address = "127.0.0.1:${port}"
  cluster_address = "127.0.0.1:${clusterPort}"
  tls_disable = true
}
`;
}
