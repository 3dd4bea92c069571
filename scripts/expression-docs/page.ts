import type { Json } from "../../src/base/json.js";
import { OUTPUT_LIMIT, WORK_LIMIT } from "../../src/expressions/budget.js";
import { evaluate, MAX_TEMPLATE_LENGTH } from "../../src/expressions/expression.js";
import { MAX_PATH_LENGTH } from "../../src/expressions/json-path.js";
import { MAX_TOKENS } from "../../src/proxy/references.js";
import { MAX_EXPRESSIONS } from "../../src/proxy/splice/place.js";
import { MAX_REFERENCES } from "../../src/tokens/detokenize.js";
import { FILTER_GROUPS, type FilterEntry, type FilterExample, type FilterGroup } from "./filter-entries.js";
import { MISTAKES, PATHS, VALUES, type Walkthrough } from "./language-examples.js";

/** docs/expressions.md. Its results and errors are computed by the code. */
export function expressionPage(): string {
  return `${[
    "<!-- Written by `npm run generate` from scripts/expression-docs and the code. Do not edit. -->",
    INTRODUCTION,
    WHERE,
    "## Values",
    LANGUAGE,
    walkthrough(VALUES),
    "## JSON paths",
    PATH_RULES,
    walkthrough(PATHS),
    NOTHING,
    "## Filters",
    FILTERS,
    ...FILTER_GROUPS.map(filterSection),
    limits(),
    ERRORS,
    mistakeTable(),
  ].join("\n\n")}\n`;
}

const INTRODUCTION = `# Expressions

An expression is written in double braces and gives a value: \`{{ data.number | reveal_last: 4 }}\`. The language is
[Liquid](https://shopify.github.io/liquid/), limited to one value and its filters: there are no tags (\`{% if %}\`), no operators and
no custom variables. Expressions read the token that they belong to and nothing else, and never change anything.`;

const WHERE = `## Where they are used

| Where | What they see | The result |
|---|---|---|
| \`mask\` of a token, in any text of it | \`data\` | whatever it is; evaluated whenever the token is read |
| \`search_indexes\` | \`data\` | a text that is not empty |
| \`fingerprint_expression\` | \`data\`, with the keys of its objects in order, and \`metadata\` | a text |
| \`id\` of a new token | \`data\` | an id of 3 to 400 characters |
| \`{{ <token id> }}\` in the request of a proxy, in the \`args\` of a reactor and in \`POST /detokenize\` | the token's data | see below |
| \`{{ token: <token id> }}\`, in the same places | the whole token: \`id\`, \`type\`, \`data\`, \`metadata\`, \`containers\`, \`enrichments\` ... | see below |
| \`{{ config: NAME }}\` in the request of a proxy | an entry of the proxy's \`configuration\`; no filters | a text |
| \`{{ request.<field> }}\`, also \`{{ req.<field> }}\`, in a transform of requests that is not code | the body of the request | whatever it is |
| \`{{ res.<field> }}\` in a transform of responses that is not code | the body of the destination's response | whatever it is |
| \`{{ transform_identifier: '<name>' }}\` in a later transform | the token that an earlier one made | whatever it is |

In an index, a fingerprint and an id, a card's verification code is not part of \`data\`. Masks have it for the hour that it is stored.

The expression of an id sees data in which **random digits stand for hidden ones**, because ids are in URLs and logs for years. Each
number of 13 to 19 digits, with or without separators, keeps its BIN and its last four digits; a verification code keeps none. A code is
what a field such as \`cvc\` or \`security_code\` names, and beside a card number any three or four digits, but those of a \`year\` or
\`last4\`. So no filter can show more of a card, and an id made of such a number differs each time. A result that is a card number all
the same, such as one composed of several fields, is evaluated again; if it stays one, the token gets a UUID. A number that is divided
among neighbouring fields or items keeps none of its hidden digits either, if no other field of digits is beside them.

A text that is one expression and nothing else takes the result with its type: a number stays a number, an object an object. In a
longer text results become text, objects as JSON and null as nothing. Inserted values are not searched for expressions.

In JSON through a proxy a number or boolean stays within the quotes of its string, as in the published API: write the
expression without quotes, or end it with \`| to_number\` or \`| to_boolean\`, if the destination needs the bare value.
[proxies.md](proxies.md) describes how expressions are found in other bodies.`;

const LANGUAGE = `A value is a variable with a path, or a literal: a text in single or double quotes, a number, \`true\`, \`false\` or \`nil\`. Filters
follow, each after a \`|\`; their arguments follow a colon, separated by commas, by position or by name. \`{{-\` and \`-}}\` also
remove the spaces next to the expression, except in references to tokens, which do not take them.`;

const PATH_RULES = `The filter \`json\` takes a JSON path as in RFC 9535, including Goessner's syntax without scripts: names, indexes (below 0 from the
end), \`*\`, slices, one \`..\` and filters with plain paths. Functions, unions and a second \`..\` are rejected. A path must match one
value; if it matches several, the expression fails.`;

const NOTHING = `### Missing values

A path without a match gives null. In masks an entry whose expression gives null is omitted; in texts null is empty.

In the request of a proxy, the \`args\` of a reactor and the body of \`POST /detokenize\` it is a 400, \`expression found nothing: {{ ... }}\`,
and nothing is sent: a misspelled name would otherwise reach your partner as an empty card number. Give a default if a
part may be missing: \`{{ <token id> | json: '$.cvc' | default: '' }}\`. A stored null counts as found. In a proxy request, a value
that an access rule hides counts as missing.`;

const FILTERS = `The results of the examples are computed. Defaults of arguments are in parentheses; arguments without one are required.
\`json\`, \`card_bin\`, \`card_exp\`, \`hmac\` and the filters of masking, aliases and padding take them by position or by name; the
filters of standard Liquid by position.`;

const ERRORS = `## Errors

Errors name the place (a field, or line and column of a body) and never contain data. Masks are evaluated when a token
is read, long after they were written: one with an unknown filter or a syntax error is rejected when it is
written; any other failure shows null. Expressions in the transforms of a proxy are checked when the proxy is saved: syntax,
filters, and the steps they name. The error names the field and the character, such as
\`response_transforms[1].options.value: must be a valid expression: there is no filter lst4 (character 14)\`.`;

function limits(): string {
  return `## Limits

| What | How much |
|---|---|
| a text with expressions | ${thousands(MAX_TEMPLATE_LENGTH)} characters |
| a JSON path | ${thousands(MAX_PATH_LENGTH)} characters |
| tokens that one request refers to | ${Math.min(MAX_TOKENS, MAX_REFERENCES)} |
| expressions in one request | ${thousands(MAX_EXPRESSIONS)} |
| work of all expressions of a request | ${thousands(WORK_LIMIT)} steps, each a character or item that a filter reads: some 40 ms |
| results of all expressions of a request | ${thousands(OUTPUT_LIMIT)} characters of JSON |`;
}

function filterSection({ title, introduction, entries }: FilterGroup): string {
  const rows = entries.flatMap((entry) =>
    entry.examples.map((example, index) => filterRow(entry, example, index === 0)),
  );
  return [`### ${title}`, introduction, table(FILTER_HEAD, rows)].join("\n\n");
}

const FILTER_HEAD = ["Filter", "Takes", "Arguments", "Gives", "Data", "Expression", "Result"];

function filterRow({ name, input, args, gives }: FilterEntry, example: FilterExample, isFirst: boolean): string[] {
  const about = isFirst ? [`\`${name}\``, input, args || "none", gives] : ["", "", "", ""];
  const { data, expression, random } = example;
  return [
    ...about,
    code(JSON.stringify(data)),
    code(expression),
    random ? `such as ${code(JSON.stringify(random.sample))}` : resultOf(expression, data),
  ];
}

function walkthrough({ data, expressions }: Walkthrough): string {
  const rows = expressions.map((expression) => [code(expression), resultOf(expression, data)]);
  return `With \`data\` as\n\n\`\`\`json\n${JSON.stringify(data)}\n\`\`\`\n\n${table(["Expression", "Result"], rows)}`;
}

function mistakeTable(): string {
  const rows = MISTAKES.map(({ data, expression }) => {
    const outcome = evaluate(expression, { data });
    if (!("rejected" in outcome)) throw new Error(`${expression} is no mistake`);
    return [code(JSON.stringify(data)), code(expression), cell(outcome.rejected)];
  });
  return table(["Data", "Expression", "Error"], rows);
}

function resultOf(expression: string, data: Json): string {
  const outcome = evaluate(expression, { data });
  if ("rejected" in outcome) throw new Error(`${expression}: ${outcome.rejected}`);
  return code(JSON.stringify(outcome.value));
}

function code(text: string): string {
  return `\`${cell(text)}\``;
}

/** In a table a bar ends the cell, even within code. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function thousands(value: number): string {
  return value.toLocaleString("en-US");
}
