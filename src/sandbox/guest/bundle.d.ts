/** Made by scripts/bundle-sandbox.ts: the npm packages that tenant code may require. */
declare module "guest:packages" {
  import type { PackageFunction } from "./host.js";

  /** Those in the snapshot, by the name that `require` takes. */
  export const preloaded: Readonly<Record<string, PackageFunction>>;
  /** Those that the worker gives on demand. */
  export const loadedNames: readonly string[];
}

declare module "camelcase-keys" {
  export default function camelcaseKeys(value: object, options: { deep: boolean }): object;
}

declare module "snakecase-keys" {
  export default function snakecaseKeys(value: object, options: { deep: boolean }): object;
}
