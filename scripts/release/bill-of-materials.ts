import type { Component } from "./components.js";
import { sha256 } from "./sha256.js";
import type { Source } from "./source.js";

/** What is inside, in CycloneDX 1.6. Without a time of its own: the same commit gives the same file. */
export function billOfMaterials(source: Source, components: readonly Component[]): object {
  const listed = components.map((component) => entryOf(component));
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(`${source.commit} ${JSON.stringify(listed)}`)}`,
    version: 1,
    metadata: {
      timestamp: new Date(source.at * 1_000).toISOString(),
      component: {
        type: "application",
        "bom-ref": "cloakroom",
        name: "cloakroom",
        version: source.version,
        licenses: [{ license: { id: "Apache-2.0" } }],
        properties: [{ name: "cloakroom:commit", value: source.commit }],
      },
    },
    components: listed,
    dependencies: [{ ref: "cloakroom", dependsOn: listed.map((entry) => entry["bom-ref"]) }],
  };
}

function entryOf({ name, version, license, sha512, holders }: Component) {
  const purl = `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    ...(sha512 === undefined ? {} : { hashes: [{ alg: "SHA-512", content: sha512 }] }),
    ...(license === "" ? {} : { licenses: [licenseEntry(license)] }),
    properties: holders.map((value) => ({ name: "cloakroom:in", value })),
  };
}

/** One license by its id, several as an expression, and what is neither by its name. */
function licenseEntry(license: string) {
  if (/ (?:OR|AND|WITH) /.test(license)) return { expression: license };
  return { license: /^[\w.+-]+$/.test(license) ? { id: license } : { name: license } };
}

function uuidOf(text: string): string {
  const hex = sha256(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
