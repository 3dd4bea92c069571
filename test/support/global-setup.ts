import { rmSync } from "node:fs";
import type { TestProject } from "vitest/node";
import { createAuthority, type Identity } from "../egress/certificates.js";
import { makeMigratedData } from "./databases.js";
import { failedRequests } from "./failed-requests.js";
import { newDirectory } from "./new-directory.js";
import { startServerProcess } from "./server.js";

declare module "vitest" {
  interface ProvidedContext {
    /** The address of the shared server. */
    serverUrl: string;
    /** The environment for commands next to the shared server. */
    serverEnvironment: Record<string, string>;
    /** The file that receives the shared server's output. */
    serverLog: string;
    /** An identity for a test's own TLS server at 127.0.0.1, which the shared server trusts. */
    trustedIdentity: Identity;
    /** The data directory that {@link copyMigratedData} copies. */
    migratedData: string;
  }
}

/**
 * One server with one embedded database for the whole run, as `npm start` runs it. Each test file has its own tenant.
 * Of all private addresses it may call only 127.0.0.1, where tests have their destinations.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const authority = await createAuthority();
  // This one creates its own database, as a first start does.
  const settings = { EGRESS_ALLOW: "127.0.0.1", DATA_DIR: "{directory}/data" };
  await using stack = new AsyncDisposableStack();
  const newClusters = newDirectory();
  stack.defer(() => rmSync(newClusters, { recursive: true, force: true }));
  // Workers begin with this environment. See PostgresCluster.
  process.env.NEW_CLUSTERS = newClusters;
  const [server, migrated] = await Promise.all([
    startServerProcess(settings, {}, authority.pem).then((server) => stack.use(server)),
    makeMigratedData().then((data) => stack.use(data)),
  ]);
  project.provide("migratedData", migrated.dataDir);
  project.provide("isCluster", false);
  project.provide("serverUrl", server.url);
  project.provide("serverEnvironment", { ...server.environment });
  project.provide("serverLog", server.logFile);
  project.provide("trustedIdentity", await authority.issue(["localhost"], ["127.0.0.1"]));
  const running = stack.move();
  return async () => {
    const failed = failedRequests(server.said());
    if (failed.length > 0) process.stderr.write(`Requests that the shared server failed at: ${failed.join("; ")}\n`);
    await running.disposeAsync();
  };
}
