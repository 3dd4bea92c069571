import { describe, expect, it } from "vitest";
import { longFilesEarly, ownTime } from "./long-files-early.js";
import { lateLine } from "./report-late-files.js";

describe("the order of test files", () => {
  it("begins with those that compute longest, and spaces out those that wait", () => {
    const sources: Record<string, string> = {
      wait1: "// Waits: 25 s\n",
      long20: 'import "x";\n// Computes: 20 s\n',
      wait2: "// Waits: 3 s\n",
      long40: "// Computes: 40 s\n",
    };
    const others = Array.from({ length: 40 }, (_, index) => `other${index}`);
    const order = longFilesEarly([...others, ...Object.keys(sources)], (file) => ownTime(sources[file] ?? ""));
    expect(order.slice(0, 4)).toEqual(["wait1", "long40", "long20", "other0"]);
    expect(order.indexOf("wait2")).toBe(21);
    expect(order).toHaveLength(44);
    expect(order.filter((file) => file.startsWith("other"))).toEqual(others);
  });
});

describe("the report of long files that began late", () => {
  const file = (index: number, duration = 1_000) => ({ path: `test/${index}.test.ts`, startTime: index, duration });
  const quick = Array.from({ length: 300 }, (_, index) => file(index));

  it("names those of the second half that do not say so themselves", () => {
    const long = file(299, 60_000);
    const files = [long, ...quick.slice(0, -1)];
    expect(lateLine(files, () => false)).toMatch(/: test\/299\.test\.ts \(60 s\)$/);
    expect(lateLine(files, (path) => path === long.path)).toBeUndefined();
  });

  it("is silent about those that began early, about short ones, and in a run of few files", () => {
    expect(lateLine([file(0, 60_000), ...quick.slice(1)], () => false)).toBeUndefined();
    expect(lateLine(quick, () => false)).toBeUndefined();
    expect(lateLine([...quick.slice(0, 50), file(299, 60_000)], () => false)).toBeUndefined();
  });
});
