import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";

/** What the sandbox gives to code: docs/code.md. */
const MEMBERS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  "req.": [
    ["args", "The request's body of a transform, or the arguments of a reactor"],
    ["bt", "Calls to this vault with the rights of the code's application"],
    ["configuration", "The configured names and texts"],
  ],
  "req.args.": [
    ["body", "The body of the request or response, for transforms"],
    ["headers", "Its headers, for transforms"],
    ["method", "Its method, for request transforms"],
    ["path", "Its path, for request transforms"],
    ["query", "Its query, for request transforms"],
  ],
  "req.bt.": [
    ["tokenize", "tokenize(value): tokens in place of values"],
    ["detokenize", "detokenize(value): values in place of token expressions"],
    ["tokens", "create, retrieve, update, delete, search and list"],
  ],
  "req.bt.tokens.": ["create", "retrieve", "update", "delete", "search", "list"].map((name) => [name, "Token API"]),
  "module.": [["exports", "The function that is called with req"]],
};

/** Completes members of `req` after a dot. */
export function sandboxCompletions(context: CompletionContext): CompletionResult | null {
  const before = context.matchBefore(/\b(?:req|module)(?:\.\w*)+/);
  if (!before) return null;
  const dot = before.text.lastIndexOf(".") + 1;
  const members = MEMBERS[before.text.slice(0, dot)];
  if (!members) return null;
  return {
    from: before.from + dot,
    options: members.map(([label, info]) => ({ label, info, type: "property" })),
    validFor: /^\w*$/,
  };
}
