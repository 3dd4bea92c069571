import { escaped } from "../../src/base/html.js";
import type { Guide } from "./guides.js";
import type { Resource } from "./reference/operations.js";

/** The body of /docs: the ways in by group, and the API by resource. */
export function frontBody(guides: readonly Guide[], resources: readonly Resource[]): string {
  const groups = [...Map.groupBy(guides, ({ group }) => group)].map(
    ([group, entries]) => `<section><h2>${escaped(group)}</h2><ul>
${entries.map(guideItem).join("\n")}
</ul></section>`,
  );
  const links = resources.map(({ path, name }) => `<li><a href="${path}">${escaped(name)}</a></li>`);
  return `<main id="content" class="home">
<h1>Cloakroom documentation</h1>
<p class="lead">Keep card numbers, bank accounts and personal data out of your systems: hand them to the vault, keep a token.</p>
<p class="first-steps"><a class="primary" href="/docs/guides/start">Start in five minutes</a>
<a href="/docs/api">API reference</a> <a href="/console">Open the console</a></p>
<div class="groups">${groups.join("\n")}
<section class="wide"><h2>API by resource</h2><ul class="resources">${links.join("\n")}</ul></section></div>
</main>`;
}

function guideItem({ path, title, summary }: Guide): string {
  return `<li><a href="${path}">${escaped(title)}</a><p>${escaped(summary)}</p></li>`;
}
