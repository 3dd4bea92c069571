import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inject, vi } from "vitest";
import { type Clock, systemClock } from "../../src/base/clock.js";
import { readConfig } from "../../src/settings/config.js";
import { type ProvisionedTenant, provisionTenant } from "../../src/tenancy/provision.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { PATIENCE_MS } from "./patience.js";
import { type RestClient, type RestResponse, restClient } from "./rest.js";
import type { ServerProcess } from "./server.js";
import { vaultsBeside } from "./vaults-beside.js";

export interface TestTenant {
  readonly id: string;
  readonly url: string;
  /** A client with the management key. */
  readonly manage: RestClient;
  readonly managementKey: string;
  /** Creates an application and returns a client with its key. */
  application(definition: ApplicationDefinition): Promise<RestClient & { readonly key: string; readonly id: string }>;
  /** An application with all token permissions that sees tokens in the clear. */
  backEnd(): Promise<RestClient & { readonly key: string; readonly id: string }>;
}

export interface ApplicationDefinition {
  readonly type: "private" | "public" | "management";
  readonly permissions?: readonly string[];
  readonly rules?: readonly unknown[];
}

const ALL = ["token:create", "token:read", "token:search", "token:update", "token:delete", "token:use"];

/** A new tenant on the shared server, or on the one at `url` with this environment. */
export async function newTenant(
  url: string = inject("serverUrl"),
  environment: Readonly<Record<string, string>> = inject("serverEnvironment"),
): Promise<TestTenant> {
  const { tenantId, managementKey } = await provisionedTenant(environment);
  return tenantOf(tenantId, managementKey.reveal(), url);
}

/**
 * Creates a tenant as `cloakroom tenants create` does, in this process: 0.02 s on the shared server and 0.15 s on
 * another, while a command needs its own process. test/e2e/vault/cli.test.ts runs the command itself.
 */
export function provisionedTenant(environment: Readonly<Record<string, string>>): Promise<ProvisionedTenant> {
  return withVault(environment, (vault) => provisionTenant(vault, { name: "Test", ownerEmail: "owner@example.com" }));
}

/** Works in the vault of a server with this environment, beside it, as a command does. @param clock the server's. */
export async function withVault<T>(
  environment: Readonly<Record<string, string>>,
  work: (vault: Vault) => Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  if (environment.CLOAKROOM_DATA_DIR === inject("serverEnvironment").CLOAKROOM_DATA_DIR) {
    sharedVault ??= openBeside(environment);
    return await work(await sharedVault);
  }
  const kept = vaultsBeside.get(environment);
  if (kept) return await work(await kept.of(clock, () => openBeside(environment, clock)));
  await using vault = await openBeside(environment, clock);
  return await work(vault);
}

/** The shared server's vault. It stays open for the next files of this worker, and ends with its process. */
let sharedVault: Promise<Vault> | undefined;

function openBeside(environment: Readonly<Record<string, string>>, clock: Clock = systemClock): Promise<Vault> {
  return openVault({ config: readConfig(environment), as: "command", announce: () => {}, clock });
}

/** The tenant that a test's own server creates at its first start, by the key that it writes to a file. */
export async function firstTenant(server: ServerProcess): Promise<TestTenant> {
  const file = join(server.environment.CLOAKROOM_DATA_DIR ?? "", "first-management-key");
  const key = await vi.waitFor(() => readFileSync(file, "utf8").trim(), { interval: 50 });
  const { body } = await restClient(server.url, key)("GET", "/tenants/self");
  return tenantOf(body.id, key, server.url);
}

/**
 * Sends a request of a set-up again while it is refused. The first request of a key counts for its network, and all test
 * files are one: a hundred others with new keys may keep it away.
 */
function unlessRefused(send: () => Promise<RestResponse>): Promise<RestResponse> {
  return vi.waitUntil(
    async () => {
      const response = await send();
      return response.status !== 503 && response;
    },
    { timeout: PATIENCE_MS, interval: 200 },
  );
}

export function tenantOf(id: string, managementKey: string, url: string): TestTenant {
  const manage = restClient(url, managementKey);
  const application: TestTenant["application"] = async (definition) => {
    const { status, body } = await unlessRefused(() =>
      manage("POST", "/applications", { body: { name: "Test application", ...definition } }),
    );
    if (status !== 201) throw new Error(`making an application returned ${status}: ${JSON.stringify(body)}`);
    return Object.assign(restClient(url, body.key), { key: String(body.key), id: String(body.id) });
  };
  return {
    ...{ id, url, manage, managementKey, application },
    backEnd: () =>
      application({ type: "private", rules: [{ priority: 1, container: "/", transform: "reveal", permissions: ALL }] }),
  };
}
