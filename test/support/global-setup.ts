import type { TestProject } from "vitest/node";
import { createAuthority, type Identity } from "../egress/certificates.js";
import { makeMigratedData } from "./databases.js";
import { startServerProcess } from "./server.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the shared server listens. */
    serverUrl: string;
    /** What commands beside the shared server need in their environment. */
    serverEnvironment: Record<string, string>;
    /** The file that grows with what the shared server prints. */
    serverLog: string;
    /** With this, a test's own TLS server at 127.0.0.1 is trusted by the shared server. */
    trustedIdentity: Identity;
    /** The data directory that {@link copyMigratedData} copies. */
    migratedData: string;
  }
}

/**
 * One server with one embedded database for the whole run, as `npm start` runs it. Each test file has a tenant of its own.
 * Of all addresses that are not public it may call 127.0.0.1 alone, where tests have their destinations.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const authority = await createAuthority();
  // This one makes its own database, as a first start does.
  const settings = { EGRESS_ALLOW: "127.0.0.1", DATA_DIR: "{directory}/data" };
  await using stack = new AsyncDisposableStack();
  const [server, migrated] = await Promise.all([
    startServerProcess(settings, {}, authority.pem).then((server) => stack.use(server)),
    makeMigratedData().then((data) => stack.use(data)),
  ]);
  project.provide("migratedData", migrated.dataDir);
  project.provide("serverUrl", server.url);
  project.provide("serverEnvironment", { ...server.environment });
  project.provide("serverLog", server.logFile);
  project.provide("trustedIdentity", await authority.issue(["localhost"], ["127.0.0.1"]));
  const running = stack.move();
  return () => running.disposeAsync();
}
