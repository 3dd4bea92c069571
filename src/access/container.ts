import { invalid } from "../base/fault.js";

declare const brand: unique symbol;
/** A logical grouping of tokens: a lower-case path such as `/pci/high/`, with a slash at both ends. `/` is the root. */
export type ContainerPath = string & { readonly [brand]: "ContainerPath" };

const SYNTAX = /^\/(?:[a-z0-9_-]+\/)*$/;

function isContainerPath(text: string): text is ContainerPath {
  return SYNTAX.test(text);
}

/** Case does not matter; paths are stored in lower case. @throws {Fault} validation_failed, naming `field`. */
export function parseContainer(text: string, field: string): ContainerPath {
  const path = readContainer(text);
  if (path === undefined) {
    throw invalid(
      field,
      "must be a path such as /pci/high/: slashes at both ends, and letters, digits, - or _ between them",
    );
  }
  return path;
}

/** Like {@link parseContainer}, but returns undefined for an invalid path. */
export function readContainer(text: string): ContainerPath | undefined {
  const path = text.toLowerCase();
  return path.length <= 400 && isContainerPath(path) ? path : undefined;
}

/** A stored path, which was checked before. */
export function storedContainer(path: string): ContainerPath {
  if (!isContainerPath(path)) throw new Error("a malformed container is stored");
  return path;
}

/** The same for all paths of a row. */
export function storedPaths(paths: readonly string[]): readonly ContainerPath[] {
  if (!paths.every(isContainerPath)) throw new Error("a malformed container is stored");
  return paths;
}

/** A container and all of its ancestors except the root: `/a/b/` gives `/a/` and `/a/b/`. */
export function withAncestors(path: ContainerPath): ContainerPath[] {
  const ancestors: ContainerPath[] = [];
  for (let end = path.indexOf("/", 1); end > 0; end = path.indexOf("/", end + 1)) {
    ancestors.push(storedContainer(path.slice(0, end + 1)));
  }
  return ancestors;
}

/** The deepest container in the text of a path, by whole segments: `/a/b` gives `/a/`. */
export function parentOrSelf(text: string): ContainerPath | undefined {
  const path = text.slice(0, text.lastIndexOf("/") + 1);
  return isContainerPath(path) ? path : undefined;
}

/** A container covers itself and everything below: `/pci/` covers `/pci/high/`. */
export function covers(prefix: ContainerPath, path: ContainerPath): boolean {
  return path.startsWith(prefix);
}
