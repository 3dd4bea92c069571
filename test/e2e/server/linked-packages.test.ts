import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";

const directory = newDirectory();
const program = join(directory, "program");
/** The same, but its runner ends at once. */
const broken = join(directory, "broken");
/** The same, but the threads of its runner end at once. */
const threadless = join(directory, "threadless");

/** The built program in another folder, whose node_modules is a link, as monorepos make it. */
function install(folder: string): void {
  copyProgram(folder);
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
}

/** The same where each package is a link, as pnpm makes them. */
function installEach(folder: string): void {
  copyProgram(folder);
  mkdirSync(join(folder, "node_modules"));
  for (const name of readdirSync("node_modules").filter((name) => !name.startsWith("."))) {
    symlinkSync(resolve("node_modules", name), join(folder, "node_modules", name));
  }
}

function copyProgram(folder: string): void {
  mkdirSync(folder);
  copyFileSync("package.json", join(folder, "package.json"));
  execFileSync("cp", ["-a", "dist", join(folder, "dist")]);
}

beforeAll(() => {
  install(program);
  // The folder itself is reached through a link, too.
  symlinkSync(program, join(directory, "link"));
  installEach(join(directory, "each"));
  install(broken);
  writeFileSync(join(broken, "dist/sandbox/runner.js"), 'throw new Error("no engine here");\n');
  install(threadless);
  writeFileSync(join(threadless, "dist/sandbox/worker.js"), 'throw new Error("no thread here");\n');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The report of `cloakroom doctor` of the program in this folder, on the database of the running server. */
function doctor(folder: string): Promise<{ healthy: boolean; problem?: string }> {
  const env = { PATH: process.env.PATH, ...inject("serverEnvironment") };
  return new Promise((tell) => {
    execFile(process.execPath, [join(folder, "dist/src/main.js"), "doctor", "--json"], { env }, (_error, stdout) =>
      tell(JSON.parse(stdout)),
    );
  });
}

it.each(["program", "link", "each"])("runs tenants' code if packages are symbolic links (%s)", async (name) => {
  expect(await doctor(join(directory, name))).toMatchObject({ healthy: true });
});

it.each([
  { folder: broken, cause: "Error: no engine here" },
  // The pool tries to load the file in another way too, which is forbidden, and tells that error.
  { folder: threadless, cause: "EvalError: Code generation from strings disallowed for this context" },
])("has a runner that does not start reported by doctor, with its cause ($cause)", async ({ folder, cause }) => {
  expect(await doctor(folder)).toMatchObject({
    healthy: false,
    problem: `Tenants' code does not run, because its runner does not start: ${cause}`,
  });
});

it("has a runner that does not start reported by /readyz, and its cause in the log", async () => {
  await using server = await startReplica(
    { CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) },
    join(broken, "dist/src/main.js"),
  );
  await expect
    .poll(async () => (await restClient(server.url)("GET", "/readyz")).body.warnings)
    .toEqual([
      "Tenants' code does not run, because its runner does not start. The log says why, and so does: cloakroom doctor",
    ]);
  expect((await restClient(server.url)("GET", "/readyz")).status).toBe(200);
  expect(server.said()).toMatch(/"reason":"runner_exited: not_started","cause":"Error: no engine here"/);
});
