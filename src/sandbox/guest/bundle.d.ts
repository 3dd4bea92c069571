/** Made by scripts/sandbox-bundles.ts: the npm packages that tenant code may require. */
declare module "guest:packages" {
  import type { PackageFunction } from "./host.js";

  /** Those in the snapshot, by the name that `require` takes. */
  export const preloaded: Readonly<Record<string, PackageFunction>>;
  /** Those that the worker gives on demand. */
  export const onDemand: readonly string[];
  /** Names that are refused, with the reason. */
  export const refused: ReadonlyMap<string, string>;
}

/** Made by scripts/sandbox-bundles.ts: constants of Node's own modules. */
declare module "guest:node-constants" {
  export const os: Readonly<Record<string, Readonly<Record<string, number>>>>;
  export const zlib: Readonly<Record<string, number>>;
  export const STATUS_CODES: Readonly<Record<string, string>>;
}

declare module "camelcase-keys" {
  export default function camelcaseKeys(value: object, options: { deep: boolean }): object;
}

declare module "snakecase-keys" {
  export default function snakecaseKeys(value: object, options: { deep: boolean }): object;
}

declare module "event-target-shim" {
  export class Event {
    constructor(type: string, options?: object);
    readonly type: string;
  }
  export class EventTarget {
    addEventListener(type: string, listener: (event: Event) => void, options?: object): void;
    removeEventListener(type: string, listener: (event: Event) => void): void;
    dispatchEvent(event: Event): boolean;
  }
}
