import { totalmem } from "node:os";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { availableMemory, serverSettings, sharedBuffers } from "../../../src/store/embedded/server-settings.js";

const GB = 1024 ** 3;

describe("the server's memory", () => {
  it.each([
    [0.1 * GB, "32MB"],
    [0.5 * GB, "102MB"],
    [1 * GB, "204MB"],
    [4 * GB, "819MB"],
    [10 * GB, "2048MB"],
    [512 * GB, "2048MB"],
  ])("is for %d bytes %s", (memory, expected) => {
    expect(sharedBuffers(memory)).toBe(expected);
  });

  it("is what this machine has, or less", () => {
    expect(availableMemory()).toBeGreaterThan(0);
    expect(availableMemory()).toBeLessThanOrEqual(totalmem());
  });
});

describe("the server's settings", () => {
  it("are quoted as one word per name and value, whatever the directories are called", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 2 ** 46 }), (directory, memory) => {
        const rest = serverSettings(directory, 5432, memory);
        expect(rest.length % 2).toBe(0);
        for (let at = 0; at < rest.length; at += 2) {
          expect(rest[at]).toBe("-c");
          expect(rest[at + 1]).toMatch(/^[a-z_]+=/);
        }
        expect(rest).toContain(`unix_socket_directories=${directory}`);
        expect(rest).toContain("listen_addresses=");
        expect(rest).toContain("fsync=on");
      }),
    );
  });
});
