import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const CHART = "deploy/helm/cloakroom";
const schema = JSON.parse(readFileSync(`${CHART}/values.schema.json`, "utf8"));
const defaults = parse(readFileSync(`${CHART}/values.yaml`, "utf8"));
const validate = new Ajv({ strict: false }).compile(schema);
const templates = globSync(`${CHART}/templates/*`).map((file) => readFileSync(file, "utf8"));

describe("the Helm chart", () => {
  it("takes every setting of the server that it does not make itself", () => {
    const made = [...templates.join("").matchAll(/name: ((?:CLOAKROOM_|DATABASE_URL)\w*)/g)].map(([, name]) => name);
    // Generated from the table of settings.
    const page = readFileSync("docs/configuration.md", "utf8");
    const known = [...page.matchAll(/^\| `([A-Z0-9_]+)`/gm)].map(([, name = ""]) => name);
    expect(made.filter((name = "") => !known.includes(name) && name !== "CLOAKROOM_")).toEqual([]);
    const offered: readonly string[] = schema.definitions.setting.enum;
    expect(offered.filter((name) => !known.includes(name))).toEqual([]);
    const left = known.filter((name) => !offered.includes(name) && !made.includes(name));
    // By the ternary of Transit's secrets, and by ports that the chart fixes.
    expect(left.sort()).toEqual([
      "CLOAKROOM_ADMIN_PORT",
      "CLOAKROOM_PORT",
      "CLOAKROOM_TRANSIT_SECRET_ID",
      "CLOAKROOM_TRANSIT_TOKEN",
    ]);
  });

  it.each(["", ...globSync(`${CHART}/examples/*.yaml`)])("accepts its defaults and %s", (file) => {
    const values = file === "" ? {} : parse(readFileSync(file, "utf8"));
    expect(validate(defaults), JSON.stringify(validate.errors)).toBe(true);
    expect(validate(values), JSON.stringify(validate.errors)).toBe(true);
  });

  it.each([
    [{ databse: { kind: "embedded" } }],
    [{ database: { kinds: "embedded" } }],
    [{ database: { kind: "sqlite" } }],
    [{ settings: { CLOAKROOM_PUBLIC_ULR: "https://vault.example.com" } }],
    [{ env: { CLOAKROOM_HOST: "127.0.0.1" } }],
    [{ image: { digest: "sha256:12" } }],
    [{ replicas: 0 }],
  ])("refuses %j", (values) => {
    expect(validate(values)).toBe(false);
  });

  it.runIf(spawnSync("helm", ["version"]).status === 0)(
    "renders the manifests beside it, and refuses what cannot work",
    () => {
      const folder = mkdtempSync(join(tmpdir(), "manifests-"));
      try {
        expect(spawnSync("deploy/kubernetes/render.sh", [folder]).status).toBe(0);
        for (const file of globSync("deploy/kubernetes/*.yaml"))
          expect(readFileSync(file, "utf8"), file).toBe(readFileSync(join(folder, basename(file)), "utf8"));
        const args = ["template", "x", CHART, "--kube-version", "1.33.0", "--set", "rootKey.holder=data"];
        expect(spawnSync("helm", args, { encoding: "utf8" }).stderr).toContain(
          "rootKey.holder=data needs database.kind=embedded",
        );
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );

  it.runIf(spawnSync("helm", ["version"]).status === 0)("writes numbers of a file as they are there", () => {
    const folder = mkdtempSync(join(tmpdir(), "values-"));
    try {
      const settings = { CLOAKROOM_BODY_LIMIT_BYTES: 5_242_880, CLOAKROOM_PROCESSES: 2, CLOAKROOM_LOG_LEVEL: "warn" };
      const file = join(folder, "values.yaml");
      writeFileSync(file, JSON.stringify({ settings, env: { OTEL_TRACES_SAMPLER_ARG: 0.25 } }));
      const args = ["template", "x", CHART, "--kube-version", "1.33.0", "--show-only", "templates/deployment.yaml"];
      const { stdout } = spawnSync("helm", [...args, "--values", file], { encoding: "utf8" });
      const { env } = parse(stdout).spec.template.spec.containers[0];
      const values = new Map(env.map(({ name, value }: { name: string; value: string }) => [name, value]));
      expect([...Object.keys(settings), "OTEL_TRACES_SAMPLER_ARG"].map((name) => values.get(name))).toEqual([
        "5242880",
        "2",
        "warn",
        "0.25",
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.runIf(spawnSync("helm", ["version"]).status === 0).each([
    [["backup.enabled=true"], "backup.claimName is empty"],
    [["backup.enabled=true", "backup.claimName=backups"], ""],
    [["backup.enabled=true", "backup.to=s3://bucket/vault"], ""],
  ])("renders %j with the error %j", (set, error) => {
    const args = ["template", "x", CHART, "--kube-version", "1.33.0", ...set.flatMap((each) => ["--set", each])];
    const { status, stderr } = spawnSync("helm", args, { encoding: "utf8" });
    expect([status === 0, stderr]).toEqual([error === "", expect.stringContaining(error)]);
  });
});
