import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createRegistry, fromJson } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "vitest";
import { type Operation, readDescription, readResources } from "../../../scripts/docs/reference/operations.js";
import { rpcMessage, samplesFor } from "../../../scripts/docs/reference/samples.js";
import type { Json } from "../../../src/base/json.js";

const operations: Operation[] = [];
beforeAll(async () => {
  operations.push(...(await readResources(readDescription())).flatMap((resource) => resource.operations));
});

/** An operation once for each example of its body. */
function calls(): { operation: Operation; body: Json | undefined }[] {
  return operations.flatMap((operation) => {
    const bodies = Object.values(operation.body?.examples ?? {}).map(({ value }) => value);
    return (bodies.length === 0 ? [undefined] : bodies).map((body) => ({ operation, body }));
  });
}

describe("the calls of the API reference", () => {
  it("are there for every operation, each in the languages that can make it", () => {
    expect(operations.length).toBeGreaterThan(80);
    const without = operations.filter((operation) => samplesFor(operation, undefined).length === 0);
    expect(without).toEqual([]);
    // A proxied call has the form of the destination's API.
    const onlyCurl = operations.filter((operation) => samplesFor(operation, undefined).length === 1);
    expect(onlyCurl.map(({ id }) => id)).toEqual(["proxyPost"]);
  });

  it("over gRPC and in Go are messages of the protos", () => {
    const registry = createRegistry();
    for (const { operation, body } of calls()) {
      const { method } = operation;
      if (!method) continue;
      const message = rpcMessage(method, body);
      expect(() => fromJson(method.input, message, { registry }), operation.id).not.toThrow();
    }
  });

  it("in TypeScript compile against the client", async () => {
    const texts = calls().flatMap(({ operation, body }) =>
      samplesFor(operation, body).filter(({ language }) => language === "TypeScript"),
    );
    expect(texts.length).toBeGreaterThan(80);
    // Inside the repository, where the client's own dependencies are found.
    const folder = await mkdtemp(join(process.cwd(), "dist/samples-"));
    try {
      // Ids come from earlier calls, which give them their kind.
      const ids =
        "declare const id: never;\ndeclare const keyId: never;\ndeclare const eventId: never;\ndeclare const requestId: never;";
      const program = [
        'import { Cloakroom } from "../../clients/typescript/src/node.js";',
        'const vault = new Cloakroom({ baseUrl: "http://127.0.0.1:8080", apiKey: "" });',
        ids,
        ...texts.map(({ code }, at) => `export async function sample${at}() {\n${code}\n}`),
      ].join("\n");
      await writeFile(join(folder, "samples.ts"), program);
      const options = {
        extends: "../../tsconfig.json",
        compilerOptions: { noEmit: true, rootDir: "../..", noUnusedLocals: false },
        files: ["samples.ts"],
        // Otherwise that of the extended file: the whole repository.
        include: [],
      };
      await writeFile(join(folder, "tsconfig.json"), JSON.stringify(options));
      const compiled = await promisify(execFile)(process.execPath, [
        "node_modules/typescript/bin/tsc",
        "-p",
        join(folder, "tsconfig.json"),
      ]).then(
        () => "",
        (error: { stdout: string }) => error.stdout,
      );
      expect(compiled).toBe("");
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
