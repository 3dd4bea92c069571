import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ContainerPath,
  covers,
  parentOrSelf,
  parseContainer,
  readContainer,
  storedContainer,
  withAncestors,
} from "../../src/access/container.js";
import { faultFields } from "../expressions/faults.js";
import { arbitrary } from "./rights.js";

const path = (text: string): ContainerPath => storedContainer(text);

describe("a container", () => {
  it.each([
    ["/", "/"],
    ["/pci/", "/pci/"],
    ["/PCI/High/", "/pci/high/"],
    ["/customer-7/cards_2/", "/customer-7/cards_2/"],
    ["/0/-/_/", "/0/-/_/"],
    [`/${"x".repeat(398)}/`, `/${"x".repeat(398)}/`],
  ])("written as %.20s is stored as %.20s", (text, stored) => {
    expect(parseContainer(text, "containers[0]")).toBe(stored);
  });

  it.each([
    ...["", "pci", "/pci", "pci/", "//", "/a//b/", "/a/ /", "/a.b/", "/a/*", "/../", "/ä/", "/a/\n", " /a/", "/a%20b/"],
    `/${"x".repeat(399)}/`,
  ])("cannot be written as %.20j, and the field is named", (text) => {
    expect(faultFields(() => parseContainer(text, "rules[2].container"))).toEqual({
      "rules[2].container": [expect.stringContaining("must be a path such as /pci/high/")],
    });
    expect(readContainer(text)).toBeUndefined();
  });

  it("is in lower case once it is stored, so a stored path in capitals is damaged", () => {
    expect(() => storedContainer("/A/")).toThrow("a malformed container is stored");
  });
});

describe("the ancestors of a container", () => {
  it.each([
    ["/", []],
    ["/a/", ["/a/"]],
    ["/a/b/c/", ["/a/", "/a/b/", "/a/b/c/"]],
  ])("%s: %j, with itself and without the root", (text, ancestors) => {
    expect(withAncestors(path(text))).toEqual(ancestors);
  });

  it("are, with the root, exactly the containers that cover it", () => {
    fc.assert(
      fc.property(arbitrary.container, arbitrary.container, (one, other) => {
        const covering: readonly string[] = ["/", ...withAncestors(other)];
        expect(covers(one, other)).toBe(covering.includes(one));
      }),
    );
  });

  it("cover each other in one direction only", () => {
    fc.assert(
      fc.property(arbitrary.container, arbitrary.container, (one, other) => {
        expect(covers(one, one)).toBe(true);
        if (covers(one, other) && covers(other, one)) expect(one).toBe(other);
      }),
    );
  });
});

describe("the container in which texts with a beginning can lie", () => {
  it.each([
    ["/a/b", "/a/"],
    ["/a/b/", "/a/b/"],
    ["/a", "/"],
    ["/", "/"],
    ["a", undefined],
    ["", undefined],
    ["/a//b", undefined],
    ["/A/b", undefined],
  ])("%j: %s", (text, container) => {
    expect(parentOrSelf(text)).toBe(container);
  });
});
