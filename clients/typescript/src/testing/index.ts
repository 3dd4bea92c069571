// A real vault for tests: the server itself, on an embedded database of its own.
import { existsSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CreateApplicationInput } from "../generated/messages.js";
import { Cloakroom } from "../node.js";
import { startServerProcess } from "./server-process.js";
import { copyOf, preparedDirectory } from "./template.js";

export interface VaultOptions {
  /** The server's `dist/src/main.js`. By default CLOAKROOM_SERVER, or that of the package `cloakroom`. */
  readonly program?: string | undefined;
  /** Settings of the server, without CLOAKROOM_: `{ BODY_LIMIT_BYTES: "1000" }`. Rate limits are off unless set. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

/** A running vault. It ends with the program, if not before. */
export interface TestVault extends AsyncDisposable {
  readonly url: string;
  readonly managementKey: string;
  /** A client with the management key. */
  readonly management: Cloakroom;
  /** Makes an application and gives a client with its key. By default it may do everything with tokens, in the clear. */
  client(application?: Partial<CreateApplicationInput>): Promise<Cloakroom>;
  stop(): Promise<void>;
}

const ALL_OF_TOKENS = ["create", "read", "update", "delete", "search", "use"].map((verb) => `token:${verb}`);

/**
 * Starts a vault with a tenant of its own. The first call on a machine prepares a database; later ones copy it.
 * @throws {Error} where the server is not found or does not start, with what it printed.
 */
export async function startVault({ program, settings = {} }: VaultOptions = {}): Promise<TestVault> {
  const server = program ?? process.env.CLOAKROOM_SERVER ?? installedServer();
  const directory = await copyOf(await preparedDirectory(server));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  const running = await startServerProcess(server, join(directory, "data"), settings).catch((error: unknown) => {
    remove();
    throw error;
  });
  const { url, managementKey } = running;
  const management = new Cloakroom({ baseUrl: url, apiKey: managementKey });
  const clients = [management];
  const stop = async () => {
    await Promise.all(clients.map((client) => client.close()));
    await running.stop();
    remove();
  };
  return {
    url,
    managementKey,
    management,
    async client(application = {}) {
      const rights = application.permissions || application.rules ? {} : { rules: [EVERYTHING] };
      const { key } = await management.applications.create({
        name: "Test",
        type: "private",
        ...rights,
        ...application,
      });
      const client = new Cloakroom({ baseUrl: url, ...(key === undefined ? {} : { apiKey: key }) });
      clients.push(client);
      return client;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const EVERYTHING = { priority: 1, container: "/", transform: "reveal", permissions: ALL_OF_TOKENS } as const;

/** Beside this package in the repository, or installed as a package. */
function installedServer(): string {
  const beside = fileURLToPath(new URL("../../../../dist/src/main.js", import.meta.url));
  if (existsSync(beside)) return beside;
  try {
    return createRequire(import.meta.url).resolve("cloakroom/dist/src/main.js");
  } catch (error) {
    throw new Error("The server is not installed. Set CLOAKROOM_SERVER to its dist/src/main.js.", { cause: error });
  }
}
