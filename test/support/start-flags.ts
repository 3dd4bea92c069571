import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What `npm start` gives Node before the program: how its memory is laid out. */
export function startFlags(directory = "."): string[] {
  const { scripts } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  const [, flags = ""] = /node ((?:--\S+ )+)dist\/src\/main\.js serve/.exec(scripts.start) ?? [];
  if (flags === "") throw new Error("npm start gives Node no flags");
  return flags.trim().split(" ");
}
