import { readFileSync } from "node:fs";
import { chartArchive } from "./chart.js";
import { debianPackage } from "./debian-package.js";
import { linuxTree } from "./linux-tree.js";
import { notices } from "./notices.js";
import { clientPackage, cliPackage, elementsPackage, guestPackages, serverPackage } from "./npm-packages.js";
import type { Source } from "./source.js";
import { tarGz } from "./tar.js";

/** A file of the release. */
export interface MadeFile {
  readonly name: string;
  readonly content: Uint8Array;
}

/** One kind of file of the release, by the name that `--only` takes. */
export interface Artefact {
  readonly name: string;
  make(source: Source): Promise<readonly MadeFile[]> | readonly MadeFile[];
}

/** Processors of machines, as npm and Debian name them. */
const PROCESSORS = [
  { npm: "x64", debian: "amd64" },
  { npm: "arm64", debian: "arm64" },
] as const;

export const ARTEFACTS: readonly Artefact[] = [
  { name: "server", make: (source) => npm("server", source, serverPackage(source)) },
  { name: "guest-packages", make: (source) => npm("guest-packages", source, guestPackages(source)) },
  { name: "cli", make: async (source) => npm("cli", source, await cliPackage(source)) },
  { name: "client", make: (source) => npm("client", source, clientPackage(source)) },
  { name: "elements", make: (source) => npm("elements", source, elementsPackage(source)) },
  {
    name: "protos",
    make: ({ version }) => [
      { name: `cloakroom-${version}-protos.tar.gz`, content: readFileSync("dist/protos.tar.gz") },
    ],
  },
  {
    name: "chart",
    make: (source) => [{ name: `cloakroom-chart-${source.version}.tgz`, content: chartArchive(source) }],
  },
  { name: "notices", make: () => [{ name: "THIRD-PARTY-NOTICES.txt", content: Buffer.from(notices()) }] },
  ...PROCESSORS.map(
    ({ npm: processor, debian }): Artefact => ({
      name: `linux-${processor}`,
      make(source) {
        const { version, at } = source;
        const name = `cloakroom-${version}-linux-${processor}`;
        const files = linuxTree(source, processor);
        const archived = files.map((file) => ({ ...file, path: `${name}/${file.path}` }));
        return [
          { name: `${name}.tar.gz`, content: tarGz(archived, at) },
          { name: `cloakroom_${version}_${debian}.deb`, content: debianPackage(source, debian, files) },
        ];
      },
    }),
  ),
];

function npm(name: string, { version, at }: Source, files: Parameters<typeof tarGz>[0]): readonly MadeFile[] {
  const packed = files.map((file) => ({ ...file, path: `package/${file.path}` }));
  return [{ name: `cloakroom-${name}-${version}.tgz`, content: tarGz(packed, at) }];
}
