import { vi } from "vitest";
import { PATIENCE_MS } from "./patience.js";

const waitFor = vi.waitFor;

/** vi.waitFor has no setting, as expect.poll has, and gives up after a second. */
vi.waitFor = (probe, options) => {
  const given = typeof options === "number" ? { timeout: options } : options;
  return waitFor(probe, { timeout: PATIENCE_MS, ...given });
};
