import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inject, vi } from "vitest";
import { newTenant } from "../../support/tenant.js";

/** The commands of the README, as it is written. */
const commands = [...readFileSync("examples/checkout/README.md", "utf8").matchAll(/^node (.*?)(?: &)?$/gm)].map(
  ([, command = ""]) => command.split(" "),
);

/** The sample shop with its acquirer, in a tenant of its own. */
export interface RunningShop extends AsyncDisposable {
  readonly url: string;
}

export async function startShop(): Promise<RunningShop> {
  const folder = mkdtempSync(join(tmpdir(), "cloakroom-shop-"));
  const tenant = await newTenant();
  const [shopPort, acquirerPort] = await Promise.all([freePort(), freePort()]);
  const url = `http://localhost:${shopPort}`;
  const file = join(folder, "shop.env");
  const environment = {
    ...process.env,
    ...{ CLOAKROOM_URL: inject("serverUrl"), SHOP_URL: url, MANAGEMENT_KEY: tenant.managementKey },
    ...{ ACQUIRER_URL: `http://127.0.0.1:${acquirerPort}`, SHOP_SETTINGS: file },
  };
  const [setup = [], ...servers] = commands;
  await promisify(execFile)(process.execPath, setup, { env: environment });
  const running = servers.map((server): ChildProcess => {
    const given = server.map((part) => part.replace("examples/checkout/shop.env", file));
    return spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"] });
  });
  await vi.waitFor(() => fetch(url));
  return {
    url,
    async [Symbol.asyncDispose]() {
      for (const program of running) {
        program.kill();
        if (program.exitCode === null && program.signalCode === null) await once(program, "exit");
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port }: { port: number } = Object(server.address());
  server.close();
  return port;
}
