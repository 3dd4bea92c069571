import type { TestProject } from "vitest/node";
import { startServerProcess } from "./server.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the shared server listens. */
    serverUrl: string;
    /** What commands beside the shared server need in their environment. */
    serverEnvironment: Record<string, string>;
    /** The file that grows with what the shared server prints. */
    serverLog: string;
  }
}

/** One server with one embedded database for the whole run, as `npm start` runs it. Each test file has a tenant of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServerProcess();
  project.provide("serverUrl", server.url);
  project.provide("serverEnvironment", { ...server.environment });
  project.provide("serverLog", server.logFile);
  return async () => {
    await server[Symbol.asyncDispose]();
  };
}
