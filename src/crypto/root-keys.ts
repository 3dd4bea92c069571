import { exists } from "../base/whole-file.js";
import { isFileKeyId, readKeyFile, replacedKeyPath } from "./key-file.js";
import { KmsRootKey } from "./kms-key.js";
import { LocalRootKey } from "./local-root-key.js";
import type { RootKey } from "./root-key.js";
import type { TransitSettings } from "./transit-client.js";
import { TransitRootKey, transitKeyId } from "./transit-key.js";

/** The holder of the wrapping root key. */
export type RootKeyHolder =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "transit"; readonly settings: TransitSettings }
  | {
      readonly kind: "kms";
      readonly keyId: string;
      /** Access to the Transit key that this one replaces. */
      readonly former: TransitSettings | undefined;
    };

export class RootKeys {
  readonly holder: RootKeyHolder;
  /** May contain the key of the former holder while the root key moves from a file to a service. */
  readonly #keyFile: string;
  readonly #known = new Map<string, RootKey>();

  constructor(holder: RootKeyHolder, keyFile: string) {
    this.holder = holder;
    this.#keyFile = keyFile;
  }

  /** @throws {KeyFileError} */
  async current(): Promise<RootKey> {
    switch (this.holder.kind) {
      case "file": {
        const keys = await readKeyFile(this.holder.path);
        for (const key of keys) this.#known.set(key.id, key);
        return keys[keys.length - 1] ?? keys[0];
      }
      case "transit":
        return this.#keep(
          this.#known.get(transitKeyId(this.holder.settings)) ?? new TransitRootKey(this.holder.settings),
        );
      case "kms":
        return this.#keep(this.#known.get(`kms:${this.holder.keyId}`) ?? new KmsRootKey(this.holder.keyId));
    }
  }

  /**
   * Finds a key by id. Reads the key file again for an unknown id, because it may have been rotated since the start.
   */
  async find(id: string): Promise<RootKey | undefined> {
    const known = this.#known.get(id);
    if (known) return known;
    const opened = this.#open(id);
    if (opened) return this.#keep(opened);
    return this.#read(this.#keyFile, id);
  }

  /**
   * Finds a key by id, also where a replaced one is moved: in a file of its own, after a replacement that was interrupted
   * just before its last step.
   */
  async findAnywhere(id: string): Promise<RootKey | undefined> {
    const found = await this.find(id);
    return found || !isFileKeyId(id) ? found : this.#read(replacedKeyPath(this.#keyFile, id), id);
  }

  /** Adds a key that is in no file: it was combined from shares, or another process of this server read it. */
  hold(key: RootKey): void {
    this.#known.set(key.id, key);
  }

  /** The keys that this process holds itself. */
  get local(): readonly LocalRootKey[] {
    return [...this.#known.values()].filter((key) => key instanceof LocalRootKey);
  }

  async #read(path: string, id: string): Promise<RootKey | undefined> {
    if (!(await exists(path))) return undefined;
    for (const key of await readKeyFile(path)) this.#known.set(key.id, key);
    return this.#known.get(id);
  }

  #keep(key: RootKey): RootKey {
    this.#known.set(key.id, key);
    return key;
  }

  #open(id: string): RootKey | undefined {
    const [, kind, name = ""] = /^(transit|kms):(.+)$/.exec(id) ?? [];
    if (kind === "kms") return new KmsRootKey(name);
    const transit = this.holder.kind === "transit" ? this.holder.settings : formerOf(this.holder);
    if (kind !== "transit" || !transit) return undefined;
    const [, mount, keyName] = /^(.+)\/([^/]+)$/.exec(name) ?? [];
    return mount && keyName ? new TransitRootKey({ ...transit, mount, keyName }) : undefined;
  }
}

function formerOf(holder: RootKeyHolder): TransitSettings | undefined {
  return holder.kind === "kms" ? holder.former : undefined;
}
