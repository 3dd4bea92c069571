// Needs: script
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, inject, it } from "vitest";
import { cloakroom } from "../support/command.js";
import { newTenant } from "../support/tenant.js";

it("colors are for terminals: not for pipes, and not with --no-color or NO_COLOR", async () => {
  const { managementKey } = await newTenant();
  const environment = { CLOAKROOM_URL: inject("serverUrl"), CLOAKROOM_API_KEY: managementKey };
  const onTerminal = async (more: Record<string, string>, ...args: string[]) => {
    const command = [process.execPath, "dist/src/main.js", ...args].map((word) => `'${word}'`).join(" ");
    const env = { PATH: process.env.PATH, TERM: "xterm-256color", ...environment, ...more };
    return (await promisify(execFile)("script", ["-qec", command, "/dev/null"], { env })).stdout;
  };
  const bold = "\u001b[1m";
  expect(await onTerminal({}, "apps", "list")).toContain(bold);
  expect(await onTerminal({}, "apps", "list", "--no-color")).not.toContain(bold);
  expect(await onTerminal({ NO_COLOR: "1" }, "apps", "list")).not.toContain(bold);
  expect((await cloakroom(environment, "apps", "list")).stdout).not.toContain(bold);
});
