import type { DescMethod } from "@bufbuild/protobuf";
import { type PathTemplate, routePath } from "../routes/path-template.js";

interface ServedPath {
  readonly template: PathTemplate;
  readonly methods: Set<string>;
}

const POST: ReadonlySet<string> = new Set(["POST"]);

/** The HTTP methods that each path takes. */
export class ServedPaths {
  readonly #paths = new Map<string, ServedPath>();
  readonly #calls = new Set<string>();

  add(template: PathTemplate, method: string): void {
    const url = routePath(template);
    const path = this.#paths.get(url) ?? { template, methods: new Set() };
    this.#paths.set(url, path);
    path.methods.add(method);
  }

  /** The path of an RPC, which takes POST. */
  addCall({ parent, name }: DescMethod): void {
    this.#calls.add(`/${parent.typeName}/${name}`);
  }

  /** Each path of REST in the router's form, with its methods. */
  entries(): readonly (readonly [url: string, methods: ReadonlySet<string>])[] {
    return [...this.#paths].map(([url, { methods }]) => [url, methods]);
  }

  /**
   * The methods of the path in a request's target. Undefined if there is no such path. A literal segment is preferred to
   * a variable, as by the router.
   */
  methodsAt(target: string): ReadonlySet<string> | undefined {
    const path = target.replace(/[?#].*$/s, "").replace(/\/$/, "");
    if (this.#calls.has(path)) return POST;
    const parts = path.slice(1).split("/");
    const [closest] = [...this.#paths.values()]
      .filter(({ template }) => matches(template, parts))
      .toSorted((one, other) => one.template.variables.length - other.template.variables.length);
    return closest?.methods;
  }
}

function matches({ segments }: PathTemplate, parts: readonly string[]): boolean {
  if (segments.length !== parts.length) return false;
  return segments.every((segment, index) => {
    const part = parts[index] ?? "";
    return segment.kind === "variable" ? part !== "" : part === segment.text;
  });
}
