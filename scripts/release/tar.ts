import { gzipSync } from "node:zlib";

/** A file of an archive or package. Paths are relative, with slashes. */
export interface PackedFile {
  readonly path: string;
  readonly content: Uint8Array;
  /** Whether it is a program. */
  readonly isExecutable?: boolean;
  /** Where a symbolic link leads. Its content is empty. */
  readonly linkTo?: string;
}

const BLOCK = 512;
const LONGEST_NAME = 100;

/**
 * A tar archive that depends on nothing but its files and the time: sorted, owned by root, without a name of this
 * machine. With folders for package managers that ask for them.
 * @param at the time of every file, in seconds since 1970
 */
export function tar(files: readonly PackedFile[], at: number, folders: "with folders" | "files only"): Buffer {
  const sorted = [...files].sort((one, other) => (one.path < other.path ? -1 : 1));
  const parts = folders === "with folders" ? foldersOf(sorted).flatMap((path) => folderEntry(path, at)) : [];
  for (const file of sorted) parts.push(...fileEntry(file, at));
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

/** Without a time or a name in the header of gzip, and with the same byte for the system everywhere. */
export function gzip(content: Uint8Array): Buffer {
  const packed = gzipSync(content, { level: 6 });
  packed[9] = 255;
  return packed;
}

export function tarGz(files: readonly PackedFile[], at: number): Buffer {
  return gzip(tar(files, at, "files only"));
}

/** Every folder above the files, the outer ones first. */
function foldersOf(files: readonly PackedFile[]): readonly string[] {
  const folders = new Set<string>();
  for (const { path } of files) {
    const names = path.split("/").slice(0, -1);
    for (let depth = 1; depth <= names.length; depth++) folders.add(`${names.slice(0, depth).join("/")}/`);
  }
  return [...folders].filter((folder) => folder !== "./").sort();
}

function folderEntry(path: string, at: number): Buffer[] {
  return [...longName(path, at), header({ path, mode: 0o755, size: 0, kind: "5", linkTo: "", at })];
}

function fileEntry({ path, content, isExecutable, linkTo }: PackedFile, at: number): Buffer[] {
  if (linkTo !== undefined && linkTo.length > LONGEST_NAME) throw new Error(`${path}: the link is too long for tar`);
  const kind = linkTo === undefined ? "0" : "2";
  const mode = linkTo !== undefined ? 0o777 : isExecutable ? 0o755 : 0o644;
  const entry = header({ path, mode, size: content.length, kind, linkTo: linkTo ?? "", at });
  const rest = (BLOCK - (content.length % BLOCK)) % BLOCK;
  return [...longName(path, at), entry, Buffer.from(content), Buffer.alloc(rest)];
}

/** GNU's entry before one with a path of more than 100 bytes. */
function longName(path: string, at: number): Buffer[] {
  if (Buffer.byteLength(path) <= LONGEST_NAME) return [];
  const name = Buffer.from(`${path}\0`);
  const entry = header({ path: "././@LongLink", mode: 0o644, size: name.length, kind: "L", linkTo: "", at });
  return [entry, name, Buffer.alloc((BLOCK - (name.length % BLOCK)) % BLOCK)];
}

interface Header {
  readonly path: string;
  readonly mode: number;
  readonly size: number;
  readonly kind: string;
  readonly linkTo: string;
  readonly at: number;
}

function header({ path, mode, size, kind, linkTo, at }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, start: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, start, "latin1");
  block.write(Buffer.from(path).subarray(0, LONGEST_NAME).toString("latin1"), 0, "latin1");
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(at, 136, 12);
  block.write("        ", 148, "latin1");
  block.write(kind, 156, "latin1");
  block.write(linkTo, 157, "latin1");
  block.write("ustar  \0root", 257, "latin1");
  block.write("root", 297, "latin1");
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}
