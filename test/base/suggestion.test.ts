import { describe, expect, it } from "vitest";
import { editDistance, suggestionFor } from "../../src/base/suggestion.js";

describe("suggestionFor", () => {
  const names = ["tokens", "apps", "app-keys", "proxies", "reactors", "logs"];

  it.each([
    ["tokns", "tokens"],
    ["tokesn", "tokens"],
    ["app", "apps"],
    ["react", "reactors"],
    ["lgos", "logs"],
    ["prox", "proxies"],
  ])("%s means %s", (word, meant) => {
    expect(suggestionFor(word, names)).toBe(meant);
  });

  it.each([
    ["trusted-proxy", "trusted-proxies"],
    ["trusting-a-proxy", undefined],
    ["prety", undefined],
  ])("allows an edit for every four characters of a longer word: %s means %s", (word, meant) => {
    expect(suggestionFor(word, ["trusted-proxies", "port"])).toBe(meant);
  });

  it.each(["", "x", "go", "widgets"])("suggests nothing for %j", (word) => {
    expect(suggestionFor(word, names)).toBeUndefined();
  });

  it("counts a swap of neighbours as one edit", () => {
    expect(editDistance("list", "lsit")).toBe(1);
    expect(editDistance("list", "last")).toBe(1);
    expect(editDistance("list", "lists")).toBe(1);
    expect(editDistance("", "list")).toBe(4);
  });
});
