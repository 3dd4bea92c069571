import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newDirectory } from "../support/databases.js";
import { startReplica } from "../support/replica.js";
import { restClient } from "../support/rest.js";

it("traces go to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, without what was sent", async () => {
  const received: string[] = [];
  const collector = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url === "/v1/traces") received.push(Buffer.concat(chunks).toString());
    response.setHeader("content-type", "application/json").end("{}");
  }).listen(0, "127.0.0.1");
  await once(collector, "listening");
  const address = collector.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const directory = newDirectory();
  try {
    const server = await startReplica({
      CLOAKROOM_DATA_DIR: join(directory, "data"),
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    });
    const key = "key_prod_pvt_not-a-key";
    await restClient(server.url, key)("GET", "/tokens/4242424242424242?secret=value");
    // What is left is sent before the server ends.
    expect(await server.stop()).toBe(0);
    const spans = received.flatMap((text) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans);
    const [span] = spans.filter(({ name }) => name === "GetToken");
    const attributes = span.attributes.map((pair: { key: string; value: { stringValue: string } }) => [
      pair.key,
      pair.value.stringValue,
    ]);
    expect(Object.fromEntries(attributes)).toEqual({
      "rpc.method": "GetToken",
      "http.route": "/tokens/{id}",
      "cloakroom.code": "unauthenticated",
    });
    for (const secret of ["4242424242424242", "secret=value", key]) expect(received.join()).not.toContain(secret);
  } finally {
    collector.close();
    rmSync(directory, { recursive: true, force: true });
  }
});
