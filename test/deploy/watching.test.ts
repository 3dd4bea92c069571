import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createMeters } from "../../src/telemetry/meters.js";

const FILES = "deploy/helm/cloakroom/files";
const NAME = /\b(?:cloakroom|http_server|rpc_server|db_client|nodejs|process)_[a-z0-9_]+\b/g;
/** Names of labels and of database roles that have the form of a metric. */
const OTHERS = new Set([
  "db_client_connection_pool_name",
  "db_client_connection_state",
  "cloakroom_app",
  "cloakroom_jobs",
]);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}
const rules: readonly Rule[] = parse(readFileSync(`${FILES}/alerts.yaml`, "utf8")).groups[0].rules;
const runbook = readFileSync("docs/runbook.md", "utf8");

/** The metrics of a server: those of the runtime, and the names that its sources register. */
async function served(): Promise<ReadonlySet<string>> {
  const registered = await createMeters().registry.getMetricsAsJSON();
  const sources = globSync(["src/telemetry/*.ts", "src/processes/*.ts"]).map((file) => readFileSync(file, "utf8"));
  const named = sources.flatMap((text) =>
    [...text.matchAll(/"([a-z][a-z0-9]*_[a-z0-9_]+)"/g)].map(([, name = ""]) => name),
  );
  return new Set([...registered.map(({ name }) => name), ...named]);
}

function metricsIn(text: string): readonly string[] {
  const names = [...text.matchAll(NAME)].map(([name]) => name).filter((name) => !OTHERS.has(name));
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|sum)$/, "").replace(/_seconds_count$/, "_seconds")))];
}

describe("what operators watch", () => {
  it.each([...globSync(`${FILES}/dashboards/*.json`), `${FILES}/alerts.yaml`, "docs/operations.md", "docs/runbook.md"])(
    "%s names only metrics that the server has",
    async (file) => {
      const text = readFileSync(file, "utf8");
      const there = await served();
      expect(metricsIn(text).filter((name) => !there.has(name) && !name.endsWith("_"))).toEqual([]);
      if (file.includes(FILES)) expect(metricsIn(text).length).toBeGreaterThan(3);
    },
  );

  it("has dashboards whose panels each have a query and a place of their own", () => {
    for (const file of globSync(`${FILES}/dashboards/*.json`)) {
      const { panels, uid } = JSON.parse(readFileSync(file, "utf8"));
      expect(uid).toMatch(/^cloakroom-/);
      const places = panels.map(({ gridPos }: { gridPos: { x: number; y: number } }) => `${gridPos.x},${gridPos.y}`);
      expect(new Set(places).size).toBe(panels.length);
      for (const { targets } of panels) expect(targets.every(({ expr }: { expr: string }) => expr !== "")).toBe(true);
    }
  });

  it("links every alert to the section of the runbook that says what to do", () => {
    const sections = [...runbook.matchAll(/^## (Cloakroom\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(rules.map(({ alert }) => alert));
    for (const { alert, annotations, labels } of rules) {
      expect(annotations.runbook_url).toBe(`https://vault.example.com/docs/guides/runbook#${alert.toLowerCase()}`);
      expect(["critical", "warning", "info"]).toContain(labels.severity);
      const [section = ""] = runbook.split(`## ${alert}\n`)[1]?.split("\n## ") ?? [];
      expect(section.length, alert).toBeGreaterThan(100);
    }
  });

  it.runIf(spawnSync("promtool", ["--version"]).status === 0)(
    "has rules that fire when they should",
    () => {
      const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", "alerts.test.yaml"], {
        cwd: FILES,
        encoding: "utf8",
      });
      expect(status, stdout + stderr).toBe(0);
    },
    120_000,
  );
});
