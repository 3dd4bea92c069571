/** The oldest Node with everything used here: src/base/async-disposable-stack.ts brings what Node 24 has beyond it. */
const MIN_NODE = 22;

// Nothing is imported above: an older Node may fail at an import, with an unhelpful message.
if (Number.parseInt(process.versions.node, 10) < MIN_NODE) {
  process.stderr.write(
    `Cloakroom needs Node.js ${MIN_NODE} or newer; this is ${process.versions.node}. Run it by npm (npm start), which brings one.\n`,
  );
  process.exitCode = 1;
} else {
  await keepCompiledCode();
  await import("./cli/entry.js");
}

/**
 * Keeps compiled code in dist/.compile-cache, which saves a server 0.05 s of processor time at its next start. Node's
 * default, a folder in /tmp, could be prepared by another account with code of its own; accounts that can write to dist
 * can change the program itself. Without the right to write there, Node compiles everything, as at a first start.
 */
async function keepCompiledCode(): Promise<void> {
  const [{ enableCompileCache }, { join }] = await Promise.all([import("node:module"), import("node:path")]);
  enableCompileCache(join(import.meta.dirname, "../.compile-cache"));
}

export {};
