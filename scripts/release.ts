// Makes everything that is published into release/: `npm run release -- --version X`. The same commit gives the same bytes.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ARTEFACTS, type Artefact, type MadeFile } from "./release/artefacts.js";
import { billOfMaterials } from "./release/bill-of-materials.js";
import { components } from "./release/components.js";
import { ReleaseError, readOptions } from "./release/options.js";
import { provenance } from "./release/provenance.js";
import { sha256 } from "./release/sha256.js";
import { layTree } from "./release/tree.js";

async function release(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const { source, out, builder } = options;
  if (options.tree) return layTree(source, out);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const written: (MadeFile & { readonly sha256: string })[] = [];
  const write = (made: MadeFile) => {
    writeFileSync(join(out, made.name), made.content);
    written.push({ ...made, sha256: sha256(made.content) });
    process.stdout.write(`${(made.content.length / 1e6).toFixed(1).padStart(6)} MB  ${made.name}\n`);
  };
  const chosen = ARTEFACTS.filter(({ name }: Artefact) => options.only.length === 0 || options.only.includes(name));
  for (const artefact of chosen) for (const made of await artefact.make(source)) write(made);
  const parts = components();
  write({ name: `cloakroom-${source.version}.cdx.json`, content: json(billOfMaterials(source, parts)) });
  write({ name: `cloakroom-${source.version}.intoto.json`, content: json(provenance(source, builder, written)) });
  const sums = written.map(({ name, sha256: sum }) => `${sum}  ${name}\n`).toSorted();
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
}

function json(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`);
}

try {
  await release();
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
