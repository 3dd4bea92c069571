import { type PathTemplate, routePath } from "../routes/path-template.js";
import type { RestRoute } from "./rest-route.js";

export interface RestPath {
  readonly template: PathTemplate;
  /** As metrics name it: `/tokens/:id`. */
  readonly text: string;
  readonly routes: Map<string, RestRoute>;
}

export interface FoundPath {
  readonly path: RestPath;
  readonly parameters: Readonly<Record<string, string>>;
}

const NO_PARAMETERS = {};
/** RFC 9112, 3.2.2: a proxy's form of a target. */
const ORIGIN = /^https?:\/\/[^/]*/i;

/** The paths of REST. A literal segment is preferred to a variable, whatever the method. */
export class RestPaths {
  readonly #byText = new Map<string, RestPath>();
  readonly #literal = new Map<string, FoundPath>();
  /** Those with variables, by number of segments and first segment. */
  readonly #variable = new Map<string, RestPath[]>();

  constructor(routes: readonly RestRoute[]) {
    for (const route of routes) this.#pathOf(route.rest.path).routes.set(route.rest.verb, route);
  }

  /**
   * Undefined if no path fits, or if the target cannot be decoded. A path may end in a slash, and segments may be
   * percent-encoded.
   */
  find(target: string): FoundPath | undefined {
    const path = pathIn(target);
    const parts = decodedSegments(path);
    if (!parts) return undefined;
    const literal = this.#literal.get(path.includes("%") ? textOfSegments(parts) : path);
    if (literal) return literal;
    for (const candidate of this.#variable.get(groupOf(parts)) ?? []) {
      const parameters = parametersIn(candidate.template, parts);
      if (parameters) return { path: candidate, parameters };
    }
    return undefined;
  }

  #pathOf(template: PathTemplate): RestPath {
    const known = this.#byText.get(template.text);
    if (known) return known;
    const path: RestPath = { template, text: routePath(template), routes: new Map() };
    this.#byText.set(template.text, path);
    if (template.variables.length === 0) this.#literal.set(template.text, { path, parameters: NO_PARAMETERS });
    else this.#addVariable(path);
    return path;
  }

  #addVariable(path: RestPath): void {
    const group = groupOf(path.template.segments.map((segment) => (segment.kind === "literal" ? segment.text : "")));
    const others = this.#variable.get(group) ?? [];
    this.#variable.set(group, [...others, path].toSorted(fewerVariablesFirst));
  }
}

function pathIn(target: string): string {
  const end = target.search(/[?#]/);
  const path = end < 0 ? target : target.slice(0, end);
  const local = path.startsWith("/") ? path : path.replace(ORIGIN, "");
  return local.length > 1 && local.endsWith("/") ? local.slice(0, -1) : local;
}

function decodedSegments(path: string): readonly string[] | undefined {
  const segments = path.slice(1).split("/");
  if (!path.includes("%")) return segments;
  try {
    return segments.map((segment) => decodeURIComponent(segment));
  } catch {
    return undefined;
  }
}

/** A slash within a segment stays encoded, because it separates nothing. */
function textOfSegments(segments: readonly string[]): string {
  return `/${segments.map((segment) => segment.replaceAll("/", "%2F")).join("/")}`;
}

function groupOf(segments: readonly string[]): string {
  return `${segments.length} ${segments[0]}`;
}

function fewerVariablesFirst(one: RestPath, other: RestPath): number {
  return one.template.variables.length - other.template.variables.length;
}

/** What the path binds. Undefined if it does not fit. */
function parametersIn({ segments }: PathTemplate, parts: readonly string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const part = parts[index] ?? "";
    if (segment.kind === "variable") parameters[segment.field] = part;
    else if (segment.text !== part) return undefined;
  }
  return parameters;
}
