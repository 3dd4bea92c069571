import { type Component, components } from "./components.js";

const LINE = `\n${"-".repeat(80)}\n\n`;

let made: string | undefined;

/** The licenses of everything that the artefacts contain of others. */
export function notices(): string {
  made ??= write(components());
  return made;
}

function write(all: readonly Component[]): string {
  const intro = `Cloakroom contains or is compiled with the following packages of others. Each is listed with its license; where the
package brings the text, it follows.
`;
  const texts = new Map<string, string[]>();
  const bare: string[] = [];
  for (const { name, version, license, notices: found } of all) {
    const title = `${name} ${version} (${license || "see its package"})`;
    if (found.length === 0) bare.push(title);
    // The same text once, below the names of all that have it.
    else texts.set(found.join("\n\n"), [...(texts.get(found.join("\n\n")) ?? []), title]);
  }
  const sections = [...texts].map(([text, titles]) => `${titles.join("\n")}\n\n${text}\n`);
  const withoutText = `Without a text of their own here:\n\n${bare.join("\n")}\n`;
  return [intro, ...sections, ...(bare.length === 0 ? [] : [withoutText])].join(LINE);
}
