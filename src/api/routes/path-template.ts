/** A path of google.api.http: literal segments and variables of one segment each. */
export interface PathTemplate {
  readonly text: string;
  readonly segments: readonly PathSegment[];
  /** Field names, as in the proto, that the path binds. */
  readonly variables: readonly string[];
}

export type PathSegment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "variable"; readonly field: string };

/** @throws {Error} for unsupported forms: wildcards, nested fields, custom verbs. */
export function parsePathTemplate(text: string): PathTemplate {
  if (!text.startsWith("/")) throw new Error(`the path ${text} must start with a slash`);
  const segments = text
    .slice(1)
    .split("/")
    .map((part): PathSegment => {
      const variable = /^\{([a-z][a-z0-9_]*)\}$/.exec(part)?.[1];
      if (variable) return { kind: "variable", field: variable };
      if (!/^[a-z0-9_-]+$/.test(part)) throw new Error(`the path ${text} has a segment of an unknown form: ${part}`);
      return { kind: "literal", text: part };
    });
  const variables = segments.flatMap((segment) => (segment.kind === "variable" ? [segment.field] : []));
  return { text, segments, variables };
}

/** The path in the router's form: `/tokens/:id`. */
export function routePath({ segments }: PathTemplate): string {
  return segments.map((segment) => (segment.kind === "variable" ? `/:${segment.field}` : `/${segment.text}`)).join("");
}
