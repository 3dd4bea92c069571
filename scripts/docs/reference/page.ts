import { escaped } from "../../../src/base/html.js";
import type { Json } from "../../../src/base/json.js";
import { highlighted } from "../highlight.mjs";
import type { Content, Example, Operation, Resource } from "./operations.js";
import { samplesFor } from "./samples.js";
import { fieldEntry, fieldList, prose, type Schemas } from "./schema.js";

/** The body of a resource's page: each operation's text on the left, its calls on the right. */
export function resourceBody({ name, description, operations }: Resource, schemas: Schemas): string {
  const shown = operations.map((operation) => operationSection(operation, schemas));
  return `<main id="content"><div class="lead"><h1>${escaped(name)}</h1><p>${prose(description)}</p></div>
${shown.join("\n")}</main>`;
}

function operationSection(operation: Operation, schemas: Schemas): string {
  const { id, title, summary, description } = operation;
  return `<section class="operation" aria-labelledby="${escaped(id)}">
<div class="about"><h2 id="${escaped(id)}">${escaped(title)}</h2>
<p>${prose(summary)}.</p>
${description.map((text) => `<p>${prose(text)}</p>`).join("\n")}
${routeLine(operation)}
${rightsLine(operation)}
${parameterList(operation, schemas)}
${bodyFields(operation, schemas)}
${responseFields(operation, schemas)}
${problemList(operation)}</div>
<div class="samples">${sampleBlocks(operation)}</div>
</section>`;
}

function routeLine({ verbs, path, method }: Operation): string {
  const labels = verbs.map((verb) => `<span class="verb ${verb.toLowerCase()}">${verb}</span>`).join(" ");
  const rpc = method ? ` <span class="rpc">${method.parent.typeName}/${method.name}</span>` : "";
  return `<p class="route">${labels} <code>${escaped(path)}</code>${rpc}</p>`;
}

function rightsLine({ permissions: { all, oneOf, scoped }, isRepeatable }: Operation): string {
  const rights = [
    ...all.map((permission) => `<code>${permission}</code>`),
    ...(oneOf.length > 0 ? [oneOf.map((permission) => `<code>${permission}</code>`).join(" or ")] : []),
  ];
  const needs =
    rights.length === 0 ? [] : [`Needs ${rights.join(" and ")}${scoped ? " in the token's containers" : ""}.`];
  const repeats = isRepeatable
    ? ['Safe to send again with a <a href="/docs/guides/idempotency"><code>BT-IDEMPOTENCY-KEY</code></a>.']
    : [];
  return [...needs, ...repeats].map((text) => `<p class="rights">${text}</p>`).join("\n");
}

function parameterList({ parameters }: Operation, schemas: Schemas): string {
  if (parameters.length === 0) return "";
  const entries = parameters.map(({ name, in: position, required = false, description, schema }) =>
    fieldEntry(
      {
        name: position === "header" ? name : position === "path" ? `{${name}}` : `?${name}`,
        schema: description === undefined ? schema : { ...schema, description },
        isRequired: required,
      },
      schemas,
    ),
  );
  return `<h3>Parameters</h3><ul class="fields">${entries.join("\n")}</ul>`;
}

function bodyFields({ body }: Operation, schemas: Schemas): string {
  if (!body) return "";
  const fields = fieldList(body.schema, schemas);
  const form = fields === "" ? "<p>JSON of any form.</p>" : fields;
  return `<h3>Body</h3><p class="limits"><code>${escaped(body.type)}</code></p>${form}`;
}

function responseFields({ response }: Operation, schemas: Schemas): string {
  const { status, content } = response;
  const fields = content ? fieldList(content.schema, schemas) : "";
  const shown = fields === "" ? "" : `<details><summary>Fields of the response</summary>${fields}</details>`;
  return `<h3>Response</h3><p><code>${escaped(status)}</code>${content ? "" : ", without a body"}</p>${shown}`;
}

function problemList({ problems }: Operation): string {
  const items = problems.map(({ status, codes }) => {
    const links = codes.map((code) => `<a href="/docs/guides/errors#${code}"><code>${code}</code></a>`);
    return `<li>${status} ${links.join(", ")}</li>`;
  });
  return items.length === 0 ? "" : `<details><summary>Errors</summary><ul>${items.join("\n")}</ul></details>`;
}

/** A call for each example of the body, or the one call without. Examples after the first are folded. */
function sampleBlocks(operation: Operation): string {
  const examples = Object.entries(operation.body?.examples ?? {});
  if (examples.length === 0) return callsIn(operation, undefined) + exampleResponse(operation, undefined);
  return examples
    .map(([name, { summary, value }], at) => {
      const calls = callsIn(operation, value) + exampleResponse(operation, name);
      if (at === 0) return `<p class="example">${escaped(summary)}</p>${calls}`;
      return `<details><summary>${escaped(summary)}</summary>${calls}</details>`;
    })
    .join("\n");
}

function callsIn(operation: Operation, body: Json | undefined): string {
  const figures = samplesFor(operation, body).map(
    ({ language, syntax, code }) =>
      `<figure data-language="${language}"><figcaption>${language}</figcaption><pre tabindex="0"><code>${highlighted(code, syntax)}</code></pre></figure>`,
  );
  return `<div class="calls">${figures.join("\n")}</div>`;
}

function exampleResponse({ response: { status, content } }: Operation, name: string | undefined): string {
  const example = responseExample(content, name);
  if (!example) return "";
  const json = JSON.stringify(example.value, undefined, 2);
  return `<figure><figcaption>${status} ${escaped(example.summary)}</figcaption><pre tabindex="0"><code>${highlighted(json, "json")}</code></pre></figure>`;
}

/** The response to the request of the same name. */
function responseExample(content: Content | undefined, name: string | undefined): Example | undefined {
  const examples = content?.examples ?? {};
  return name === undefined ? Object.values(examples)[0] : examples[name];
}
