import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { METHODS } from "../../../clients/typescript/src/node/codecs.js";

const RESOURCES = "clients/typescript/src/generated/resources";

it("the client for Node knows each method that its resources call", () => {
  const sources = readdirSync(RESOURCES).map((file) => readFileSync(join(RESOURCES, file), "utf8"));
  const called = sources.flatMap((source) => [...source.matchAll(/"(\w+Service\/\w+)"/g)].map(([, name = ""]) => name));
  expect(called.length).toBeGreaterThan(50);
  expect(called.filter((name) => !METHODS.has(name))).toEqual([]);
});
