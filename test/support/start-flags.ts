import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Node's options in `npm start`: the layout of its memory. */
export function startFlags(directory = "."): string[] {
  const { scripts } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  const [, flags = ""] = /node ((?:--\S+ )+)dist\/src\/main\.js serve/.exec(scripts.start) ?? [];
  if (flags === "") throw new Error("npm start gives Node no flags");
  return flags.trim().split(" ");
}
