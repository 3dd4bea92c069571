import { escaped } from "../../../src/base/html.js";
import type { Resource } from "./operations.js";

/** The body of /docs/api: what all operations share, and every operation by resource. */
export function referenceBody(resources: readonly Resource[]): string {
  const sections = resources.map(({ path, name, operations }) => {
    const items = operations.map(
      ({ id, title, verbs, path: route }) =>
        `<li><a href="${path}#${id}">${escaped(title)}</a> <span class="verb ${(verbs[0] ?? "").toLowerCase()}">${verbs[0]}</span> <code>${escaped(route)}</code></li>`,
    );
    return `<section><h2><a href="${path}">${escaped(name)}</a></h2><ul>${items.join("\n")}</ul></section>`;
  });
  return `<main id="content" class="guide index">
<h1>API reference</h1>
<p>One port serves the same operations over REST with JSON, gRPC, gRPC-Web and Connect. Send an application's key in the header
<code>BT-API-KEY</code>, over RPC as the metadata <code>bt-api-key</code>. The samples read it from the variable <code>KEY</code>, and the
vault's address from <code>BASE</code>.</p>
<ul>
<li>For generators: <a href="/openapi.json">openapi.json</a>, and <a href="/protos.tar.gz">the protos with every import</a>.</li>
<li>In TypeScript, <code>vault</code> is a client of <a href="/docs/guides/client">@cloakroom/client</a>. In Go, <code>conn</code> is a
<code>grpc.ClientConn</code>, <code>cloakroom</code> the package that <code>buf generate</code> makes of the protos.</li>
<li>A field that the vault does not know is ignored. <a href="/docs/guides/errors">Errors</a> name the fields that are wrong, and have a
code for programs.</li>
<li>Every response has the header <code>BT-TRACE-ID</code>: it is in the log and in the operator's log, too.</li>
</ul>
${sections.join("\n")}
</main>`;
}
