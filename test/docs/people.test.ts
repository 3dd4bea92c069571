import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ROLES } from "../../src/access/role.js";
import { SERVICES } from "../../src/server/served-services.js";
import { readMethodRoles } from "../../src/services/method-roles.js";

/** The rows of the table of operations, from the protos: methods of a service with the same cells share a row. */
function expectedRows(): readonly string[] {
  return SERVICES.flatMap((service) => {
    const byCells = new Map<string, string[]>();
    for (const method of service.methods) {
      const { roles, needsSecondFactor } = readMethodRoles(method);
      const cells = ROLES.map((role) => (roles.includes(role) ? (needsSecondFactor ? "second factor" : "yes") : "-"));
      const row = cells.join(" | ");
      byCells.set(row, [...(byCells.get(row) ?? []), method.name]);
    }
    return [...byCells].map(([cells, names]) => `| ${service.name} | ${names.join(", ")} | ${cells} |`);
  });
}

it("docs/people.md has the table of operations and roles as the protos define it", () => {
  const table = readFileSync("docs/people.md", "utf8")
    .split("\n")
    .filter((line) => /^\| \w+Service \|/.test(line));
  expect(table).toEqual(expectedRows());
});
