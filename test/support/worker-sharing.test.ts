import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { filesThatShareWorkers } from "./worker-sharing.js";

it.each([
  ["calls functions", "expect(maskText(1)).toBe(2);", true],
  ["calls the API of the run's server", "const tenant = await newTenant();", true],
  ["starts a server", "const server = await startServerProcess();", false],
  ["starts a database", "const database = await startDatabase();", false],
  ["replaces the timers of its process", "vi.useFakeTimers();", false],
  ["changes the environment of its process", 'process.env.TZ = "UTC";', false],
])("a file that %s shares its process, or not", (_, source, isSharing) => {
  const root = mkdtempSync(join(tmpdir(), "sharing-"));
  try {
    mkdirSync(join(root, "test"));
    writeFileSync(join(root, "test/one.test.ts"), source);
    expect(filesThatShareWorkers(root)).toEqual(isSharing ? [join("test", "one.test.ts")] : []);
  } finally {
    rmSync(root, { recursive: true });
  }
});
