// Fails when a package that a release contains has a license that does not permit it: `node scripts/check-licenses.ts`.
// It reads the lock files, so it needs no build and no network.
import { readFileSync } from "node:fs";

/** Licenses whose text and notice are all that they ask for. */
const PERMITTED = new Set([
  ...["0BSD", "Apache-2.0", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CC-BY-3.0", "ISC", "MIT"],
  ...["LicenseRef-Public-Domain", "MIT-0", "PostgreSQL", "Python-2.0", "Unlicense", "WTFPL", "Zlib"],
]);

/** Packages whose lock file entry has no usable license, with what their package.json or license file says. */
const READ_BY_HAND: Readonly<Record<string, string>> = {
  "@basis-theory/node-sdk-2": "Apache-2.0",
  esprima: "BSD-2-Clause",
  jsonify: "LicenseRef-Public-Domain",
  "png-js": "MIT",
  querystring: "MIT",
};

/** Other licenses that are accepted for one package each, because it stays a file of its own that operators can replace. */
const ACCEPTED: Readonly<Record<string, string>> = { openpgp: "LGPL-3.0+" };

interface Locked {
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

let failed = 0;
for (const file of ["package-lock.json", "packages/guest/package-lock.json"]) {
  const { packages }: { packages: Readonly<Record<string, Locked>> } = JSON.parse(readFileSync(file, "utf8"));
  for (const [folder, { license, dev, link }] of Object.entries(packages)) {
    const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
    if (!folder.includes("node_modules/") || dev || link || name.startsWith("@cloakroom/")) continue;
    const stated = READ_BY_HAND[name] ?? license ?? "none";
    if (isPermitted(stated) || stated === ACCEPTED[name]) continue;
    failed++;
    process.stderr.write(`${file}: ${name} has the license ${stated}\n`);
  }
}
if (failed > 0) process.exitCode = 1;

/** `A OR B` needs one of them, `A AND B` both. */
function isPermitted(expression: string): boolean {
  const text = expression.replaceAll(/[()]/g, "");
  if (text.includes(" OR ")) return text.split(" OR ").some(isPermitted);
  return text.split(" AND ").every((one) => PERMITTED.has(one.trim()));
}
