import { inject, vi } from "vitest";
import { cloakroom } from "./command.js";
import { type RestClient, restClient } from "./rest.js";
import type { ServerProcess } from "./server.js";

export interface TestTenant {
  readonly id: string;
  readonly url: string;
  /** A client with the management key. */
  readonly manage: RestClient;
  readonly managementKey: string;
  /** Makes an application and gives a client with its key. */
  application(definition: ApplicationDefinition): Promise<RestClient & { readonly key: string; readonly id: string }>;
  /** An application that may do everything with tokens, and sees them in the clear. */
  backEnd(): Promise<RestClient & { readonly key: string; readonly id: string }>;
}

export interface ApplicationDefinition {
  readonly type: "private" | "public" | "management";
  readonly permissions?: readonly string[];
  readonly rules?: readonly unknown[];
}

const ALL = ["token:create", "token:read", "token:search", "token:update", "token:delete", "token:use"];

/** A tenant of its own on the shared server, or on the one at `url` with this environment. */
export async function newTenant(
  url: string = inject("serverUrl"),
  environment: Record<string, string> = inject("serverEnvironment"),
): Promise<TestTenant> {
  const made = await cloakroom(
    environment,
    "tenants",
    "create",
    "--name",
    "Test",
    "--owner-email",
    "owner@example.com",
    "--json",
  );
  if (made.code !== 0) throw new Error(`tenants create failed: ${made.stderr}`);
  const { tenant_id: id, key }: { tenant_id: string; key: string } = JSON.parse(made.stdout);
  return tenantOf(id, key, url);
}

/** The tenant that a server of one's own makes at its first start, by the key that it shows then. */
export async function firstTenant(server: ServerProcess): Promise<TestTenant> {
  const key = await vi.waitFor(() => {
    const [shown] = /key_prod_mgt_\w+/.exec(server.said()) ?? [];
    if (shown === undefined) throw new Error("the server has not shown its first key");
    return shown;
  });
  const { body } = await restClient(server.url, key)("GET", "/tenants/self");
  return tenantOf(body.id, key, server.url);
}

export function tenantOf(id: string, managementKey: string, url: string): TestTenant {
  const manage = restClient(url, managementKey);
  const application: TestTenant["application"] = async (definition) => {
    const { status, body } = await manage("POST", "/applications", {
      body: { name: "Test application", ...definition },
    });
    if (status !== 201) throw new Error(`making an application answered ${status}: ${JSON.stringify(body)}`);
    return Object.assign(restClient(url, body.key), { key: String(body.key), id: String(body.id) });
  };
  return {
    ...{ id, url, manage, managementKey, application },
    backEnd: () =>
      application({ type: "private", rules: [{ priority: 1, container: "/", transform: "reveal", permissions: ALL }] }),
  };
}
