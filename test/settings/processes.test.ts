import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/settings/config.js";
import { ConfigError } from "../../src/settings/config-error.js";
import { readProcesses } from "../../src/settings/processes.js";

const read = (value: string, isEmbedded = true, connections = 16) => readProcesses(value, { isEmbedded, connections });

describe("CLOAKROOM_PROCESSES", () => {
  it("defaults to one process", () => {
    expect(readConfig({}).processes).toBe(1);
    expect(read("3")).toBe(3);
    expect(read("64", false)).toBe(64);
    expect(read("auto", false)).toBe(Math.min(availableParallelism(), 64));
  });

  it.each(["0", "65", "-1", "1.5", "two", "AUTO", "1e1"])("rejects %s", (value) => {
    expect(() => read(value)).toThrow(ConfigError);
    expect(() => read(value)).toThrow(`must be auto or a whole number from 1 to 64; it is "${value}"`);
  });

  it("fits the connections of the embedded database", () => {
    expect(read("9")).toBe(9);
    expect(() => read("10")).toThrow(/must be at most 9 with the embedded database and 16 connections/);
    expect(read("13", false)).toBe(13);
    expect(read("auto", true, 200)).toBe(1);
    expect(read("1", true, 200)).toBe(1);
  });
});
