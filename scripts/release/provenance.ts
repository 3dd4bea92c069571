import { readFileSync } from "node:fs";
import { sha256 } from "./sha256.js";
import type { Source } from "./source.js";

interface Subject {
  readonly name: string;
  readonly sha256: string;
}

/** Files that decide which packages of others come in. */
const LOCKS = ["package-lock.json", "packages/guest/package-lock.json"];

/** How the files came about: an in-toto statement with SLSA's predicate. It is not signed: who publishes it signs it. */
export function provenance(source: Source, builder: string, subjects: readonly Subject[]): object {
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: subjects.map(({ name, sha256: digest }) => ({ name, digest: { sha256: digest } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:cloakroom:release:v1",
        externalParameters: { command: "npm run release", version: source.version },
        resolvedDependencies: [
          { uri: "urn:cloakroom:source", digest: { gitCommit: source.commit } },
          ...LOCKS.map((file) => ({
            uri: `urn:cloakroom:source:${file}`,
            digest: { sha256: sha256(readFileSync(file)) },
          })),
          { uri: `pkg:generic/node@${process.versions.node}`, name: "the Node that ran the build" },
        ],
      },
      runDetails: { builder: { id: builder }, metadata: { invocationId: `commit:${source.commit}` } },
    },
  };
}
