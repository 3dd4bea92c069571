import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import type { Key, PrivateKey } from "openpgp";
import { UsageError } from "../usage-error.js";
import { askHidden } from "./prompt.js";

type OpenPgp = typeof import("openpgp");

/** openpgp is LGPL, so no bundle has it: see decision 0045. */
async function loadOpenPgp(): Promise<OpenPgp> {
  return import("openpgp").catch(() => {
    throw new UsageError(
      "--pgp-key needs the npm package openpgp beside this program: install @cloakroom/cli with it.",
    );
  });
}

/** Encrypts for the holder of the private part of a key. */
export interface PgpRecipient {
  /** Of the key, in hexadecimal, to compare with what the receiver says. */
  readonly fingerprint: string;
  encrypt(clear: Readable): Promise<Readable>;
}

/** @throws {UsageError} for a file that is no public key, or one that cannot encrypt, such as an expired one. */
export async function pgpRecipient(file: string): Promise<PgpRecipient> {
  const pgp = await loadOpenPgp();
  const key = await readKeyFile(pgp, file);
  if (key.isPrivate()) throw new UsageError(`--pgp-key ${file} is a private key: give the public key of the receiver.`);
  await key.getEncryptionKey().catch(() => {
    throw new UsageError(`--pgp-key ${file} cannot encrypt: it has expired, is revoked or only signs.`);
  });
  return {
    fingerprint: key.getFingerprint().toUpperCase(),
    async encrypt(clear) {
      const message = await pgp.createMessage({ binary: Readable.toWeb(clear), format: "binary" });
      return Readable.from(piecesOf(await pgp.encrypt({ message, encryptionKeys: key, format: "binary" })));
    },
  };
}

/** Decrypts what was encrypted for a key. What it yields before it ends may have been changed. */
export type PgpReader = (sealed: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

/** Why a PGP message cannot be read: the words after its name. They say nothing of its content. */
export class PgpUnreadable extends Error {
  override readonly name = "PgpUnreadable";
}

/**
 * Reads with the private key in a file.
 * @param passphrase of the key. Undefined: asks for it on the terminal if the key has one.
 * @throws {UsageError} for a file that is no private key, or a wrong passphrase.
 */
export async function pgpReader(file: string, passphrase: string | undefined): Promise<PgpReader> {
  const pgp = await loadOpenPgp();
  const found = await readKeyFile(pgp, file);
  if (!found.isPrivate()) throw new UsageError(`--pgp-key ${file} is a public key: an import needs the private one.`);
  const key = await unlocked(pgp, found, file, passphrase);
  const config = { allowUnauthenticatedStream: true };
  return async function* (sealed) {
    try {
      const { isArmored, all } = await withStart(sealed);
      const message = isArmored
        ? await pgp.readMessage({ armoredMessage: Readable.toWeb(Readable.from(textsOf(all))), config })
        : await pgp.readMessage({ binaryMessage: Readable.toWeb(Readable.from(all)), config });
      const { data } = await pgp.decrypt({ message, decryptionKeys: key, format: "binary", config });
      yield* piecesOf(data);
    } catch (error) {
      throw new PgpUnreadable(reasonOf(error, file));
    }
  };
}

async function readKeyFile(pgp: OpenPgp, file: string): Promise<Key> {
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch {
    throw new UsageError(`--pgp-key names a file that cannot be read: ${file}`);
  }
  try {
    const isArmored = content.subarray(0, 64).includes(ARMOR);
    return await (isArmored ? pgp.readKey({ armoredKey: content.toString() }) : pgp.readKey({ binaryKey: content }));
  } catch {
    throw new UsageError(`--pgp-key ${file} is no PGP key.`);
  }
}

async function unlocked(pgp: OpenPgp, key: Key, file: string, passphrase: string | undefined): Promise<PrivateKey> {
  const privateKey = await pgp.readPrivateKey({ binaryKey: key.write() });
  if (privateKey.isDecrypted()) return privateKey;
  const given = passphrase ?? (await askHidden(`Passphrase of ${file}`));
  return pgp.decryptKey({ privateKey, passphrase: given }).catch(() => {
    throw new UsageError(`The passphrase of ${file} is wrong.`);
  });
}

const ARMOR = "-----BEGIN PGP";

/** Tells by the start of a message whether it is text. */
async function withStart(sealed: AsyncIterable<Buffer>) {
  const pieces = sealed[Symbol.asyncIterator]();
  const first = await pieces.next();
  const start = first.done ? Buffer.alloc(0) : first.value;
  const all = async function* () {
    yield start;
    yield* { [Symbol.asyncIterator]: () => pieces };
  };
  return { isArmored: start.subarray(0, 64).includes(ARMOR), all: all() };
}

async function* textsOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const piece of pieces) yield piece.toString("latin1");
}

async function* piecesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of stream) yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
}

function reasonOf(error: unknown, file: string): string {
  const text = error instanceof Error ? error.message : "";
  if (/session key|no decryption key/i.test(text)) return `is encrypted for another key than that in ${file}`;
  if (/armored|valid OpenPGP format|no encrypted data/i.test(text)) return "is not encrypted with PGP";
  return "is cut or was changed: its content does not authenticate";
}
