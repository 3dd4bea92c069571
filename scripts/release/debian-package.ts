import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileAt, textFile } from "./disk-files.js";
import { notices } from "./notices.js";
import type { Source } from "./source.js";
import { gzip, type PackedFile, tar } from "./tar.js";

const FOLDER = "./usr/lib/cloakroom/";

/** A Debian package of a tree that has Node inside, with the service. Written here, byte for byte the same each time. */
export function debianPackage(source: Source, architecture: string, tree: readonly PackedFile[]): Buffer {
  const data = [...tree.map((file) => ({ ...file, path: FOLDER + file.path })), ...systemFiles()];
  const control = controlFiles(source, architecture, data);
  const pack = (files: readonly PackedFile[]) => gzip(tar(files, source.at, "with folders"));
  return archive(source.at, [
    ["debian-binary", Buffer.from("2.0\n")],
    ["control.tar.gz", pack(control)],
    ["data.tar.gz", pack(data)],
  ]);
}

/** What the package puts outside of its own folder. */
function systemFiles(): readonly PackedFile[] {
  const link = (path: string, linkTo: string): PackedFile => ({ path, content: Buffer.alloc(0), linkTo });
  return [
    fileAt("deploy/systemd/cloakroom.service", "./lib/systemd/system/cloakroom.service"),
    fileAt("deploy/systemd/cloakroom-backup.service", "./lib/systemd/system/cloakroom-backup.service"),
    fileAt("deploy/systemd/cloakroom-backup.timer", "./lib/systemd/system/cloakroom-backup.timer"),
    fileAt("deploy/debian/cloakroom.env", "./etc/cloakroom/cloakroom.env"),
    textFile("./usr/sbin/cloakroom-operator", readFileSync("deploy/debian/cloakroom-operator", "utf8"), "program"),
    link("./usr/bin/cloakroom", "../lib/cloakroom/bin/cloakroom"),
    textFile("./usr/share/doc/cloakroom/copyright", `${readFileSync("LICENSE", "utf8")}\n${notices()}`),
  ];
}

function controlFiles(source: Source, architecture: string, data: readonly PackedFile[]): readonly PackedFile[] {
  const kilobytes = Math.ceil(data.reduce((sum, { content }) => sum + content.length, 0) / 1_024);
  const sums = data
    .filter(({ linkTo }) => linkTo === undefined)
    .map(({ path, content }) => `${createHash("md5").update(content).digest("hex")}  ${path.slice(2)}\n`);
  const script = (name: string) => textFile(`./${name}`, readFileSync(`deploy/debian/${name}`, "utf8"), "program");
  return [
    textFile("./control", controlText(source, architecture, kilobytes)),
    textFile("./conffiles", "/etc/cloakroom/cloakroom.env\n"),
    textFile("./md5sums", sums.toSorted().join("")),
    ...["preinst", "postinst", "prerm", "postrm"].map(script),
  ];
}

function controlText({ version, commit }: Source, architecture: string, kilobytes: number): string {
  return `Package: cloakroom
Version: ${version}
Architecture: ${architecture}
Maintainer: The Cloakroom authors <security@localhost>
Installed-Size: ${kilobytes}
Depends: adduser, libc6 (>= 2.28), libstdc++6
Recommends: ca-certificates
Section: database
Priority: optional
Vcs-Commit: ${commit}
Description: self-hosted tokenization vault
 Stores cards, bank accounts and personal data, returns tokens for them, and
 sends the values on to partners. With Node.js and an embedded PostgreSQL
 inside; DATABASE_URL names a PostgreSQL of your own.
`;
}

/** The format of `ar`, of which a Debian package uses the simplest form. */
function archive(at: number, members: readonly (readonly [name: string, content: Buffer])[]): Buffer {
  const parts = members.flatMap(([name, content]) => {
    const fields = [name.padEnd(16), `${at}`.padEnd(12), "0".padEnd(6), "0".padEnd(6), "100644".padEnd(8)];
    const header = Buffer.from(`${fields.join("")}${`${content.length}`.padEnd(10)}\`\n`, "latin1");
    return [header, content, Buffer.from(content.length % 2 === 1 ? "\n" : "")];
  });
  return Buffer.concat([Buffer.from("!<arch>\n"), ...parts]);
}
