import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";

describe("a data directory that tests copy", () => {
  const directory = newDirectory();
  writeFileSync(join(directory, "template"), "");

  it.each([["serve"], ["migrate"], ["tenants", "list"], ["doctor"]])("is refused by %s %s", async (...words) => {
    const { code, stdout, stderr } = await cloakroom({ CLOAKROOM_DATA_DIR: directory }, ...words.filter(Boolean));
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(directory) });
    expect(stderr).toContain("that tests copy");
  });
});
