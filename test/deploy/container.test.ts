import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readConfig } from "../../src/settings/config.js";
import { startFlags } from "../support/start-flags.js";

const CHART = "deploy/helm/cloakroom";
const dockerfile = readFileSync("deploy/Dockerfile", "utf8");

describe("the Dockerfile", () => {
  it("passes the public linter", async () => {
    // It ends with the number of issues as its exit code.
    const { stdout } = await promisify(execFile)("node_modules/.bin/dockerfilelint", [
      "-o",
      "json",
      "deploy/Dockerfile",
    ]).catch((error: { stdout: string }) => error);
    const [{ issues }]: [{ issues: { content: string }[] }] = JSON.parse(stdout).files;
    // It takes a stage of the same file for an image without a tag.
    expect(issues.filter(({ content }) => content !== "FROM slim AS full")).toEqual([]);
  });

  it("runs as an unprivileged user, has a health check, and starts what the build produces", () => {
    const last = dockerfile.slice(dockerfile.indexOf("AS slim") - 20, dockerfile.lastIndexOf("FROM "));
    expect(dockerfile).toMatch(/^ARG NODE=24-bookworm-slim$/m);
    expect(last).toMatch(/^USER node$/m);
    expect(last).toMatch(/^HEALTHCHECK /m);
    const [, entryPoint = "[]"] = /^ENTRYPOINT (\[.*\])$/m.exec(last) ?? [];
    const entry = "dist/src/main.js";
    expect(JSON.parse(entryPoint)).toEqual(["node", ...startFlags(), `/app/${entry}`]);
    expect(existsSync(entry), `${entry} after npm run build`).toBe(true);
  });

  it("has the commands under the name by which the documents call them in a container", () => {
    const called = [readFileSync("docs/kubernetes.md", "utf8"), readFileSync(`${CHART}/templates/NOTES.txt`, "utf8")];
    for (const text of called) expect(text).toMatch(/exec [\s\S]*-- [\s\S]*\bcloakroom (?:backup|tenants)/);
    const [, target, link] = /^RUN ln -s (\S+) (\S+)$/m.exec(dockerfile) ?? [];
    expect([target, link]).toEqual(["/app/dist/src/main.js", "/usr/local/bin/cloakroom"]);
  });

  it("adds the embedded database alone for the full image", () => {
    const full = dockerfile.slice(dockerfile.lastIndexOf("FROM "));
    expect(full.trim()).toBe("FROM slim AS full\nCOPY --from=build /image/database ./");
  });

  it("copies only existing files, and nothing else enters its context", () => {
    const ignored = readFileSync("deploy/Dockerfile.dockerignore", "utf8").trim().split("\n");
    expect(ignored[0]).toBe("*");
    const context = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
    for (const name of context) expect(existsSync(name), name).toBe(true);
    const copied = [...dockerfile.matchAll(/^COPY ([^-\n].*) \S+$/gm)].flatMap(([, names = ""]) => names.split(" "));
    expect(copied.filter((name) => name !== "." && !context.includes(name))).toEqual([]);
    expect(context).not.toContain(".cloakroom");
  });

  it("sets only variables that the server knows", () => {
    const settings = [...dockerfile.matchAll(/\b(CLOAKROOM_\w+)=(\S+)/g)].map(([, name = "", value]) => [name, value]);
    expect(settings.length).toBeGreaterThan(2);
    expect(readConfig(Object.fromEntries(settings))).toMatchObject({ host: "0.0.0.0", dataDir: "/data" });
  });
});

describe("the compose file", () => {
  const compose = parse(readFileSync("deploy/compose.yaml", "utf8"), { merge: true });
  const services: Record<string, Record<string, unknown>> = compose.services;

  it("starts PostgreSQL, Valkey, a set-up that ends, and then the server", () => {
    const started = Object.keys(services).filter((name) => services[name]?.profiles === undefined);
    expect(started.sort()).toEqual(["cloakroom", "init", "postgres", "valkey"]);
    const watching = Object.keys(services).filter((name) => !started.includes(name));
    expect(watching.sort()).toEqual(["collector", "grafana", "prometheus"]);
    expect(services.init).toMatchObject({ command: ["init"], restart: "no" });
    expect(services.cloakroom).toMatchObject({
      command: ["serve"],
      read_only: true,
      cap_drop: ["ALL"],
      depends_on: { init: { condition: "service_completed_successfully" } },
    });
    expect(services.init?.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
  });

  it("names only existing files, volumes and networks", () => {
    for (const service of Object.values(services)) {
      const mounts: unknown = service.volumes ?? [];
      for (const mount of Array.isArray(mounts) ? mounts : []) {
        const [source = ""] = String(mount).split(":");
        if (source.startsWith(".")) expect(existsSync(join("deploy", source)), source).toBe(true);
        else expect(Object.keys(compose.volumes)).toContain(source);
      }
      const networks: unknown = service.networks ?? [];
      for (const name of Array.isArray(networks) ? networks : []) expect(Object.keys(compose.networks)).toContain(name);
    }
    const { context, dockerfile: file } = compose.services.cloakroom.build;
    expect(existsSync(join("deploy", context, file))).toBe(true);
  });

  it("gives the server readable files, and requires passwords instead of bringing any", () => {
    const environment: Record<string, string> = {};
    for (const [name, value] of Object.entries<string | null>(compose.services.cloakroom.environment)) {
      // Taken from the shell, and unset if the shell has none.
      if (value === null) continue;
      environment[name] = value.replace(/\$\{\w+:\?[^}]*\}/g, "from-env").replace(/\$\{\w+:-([^}]*)\}/g, "$1");
    }
    const config = readConfig(environment);
    expect(config.databaseUrl?.reveal()).toBe("postgres://cloakroom:from-env@postgres:5432/cloakroom");
    expect(config.redisUrl?.reveal()).toBe("redis://valkey:6379");
    expect(compose.services.postgres.environment.CLOAKROOM_DB_PASSWORD).toMatch(/^\$\{CLOAKROOM_DB_PASSWORD:\?/);
    const port = String(compose.services.cloakroom.ports[0]);
    expect(port).toBe(`127.0.0.1:8080:${readConfig({}).port}`);
  });
});
