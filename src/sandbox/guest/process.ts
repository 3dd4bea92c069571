/** What bundled packages take for Node's `process`. Tenant code cannot reach it. */
export const process = {
  env: {},
  argv: [],
  platform: "linux",
  version: "v16.20.2",
  versions: { node: "16.20.2" },
  browser: false,
  cwd: () => "/",
  emitWarning: () => {},
  nextTick: (callback: (...args: unknown[]) => void, ...args: unknown[]) => queueMicrotask(() => callback(...args)),
};
