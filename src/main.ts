/** The oldest Node with everything used here, such as AsyncDisposableStack. */
const MIN_NODE = 24;

// Nothing is imported above: an older Node may fail at an import, with an unhelpful message.
if (Number.parseInt(process.versions.node, 10) < MIN_NODE) {
  process.stderr.write(
    `Cloakroom needs Node.js ${MIN_NODE} or newer; this is ${process.versions.node}. Run it by npm (npm start), which brings one.\n`,
  );
  process.exitCode = 1;
} else {
  await import("./cli/entry.js");
}

export {};
