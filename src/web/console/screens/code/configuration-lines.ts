import { fromJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";

/** Lines of `name=value`; a name alone is to be removed. */
export function configurationChanges(text: string): ReadonlyMap<string, string | null> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return new Map(
    lines.map((line) => {
      const mark = line.indexOf("=");
      return mark < 0 ? [line.trim(), null] : [line.slice(0, mark).trim(), line.slice(mark + 1)];
    }),
  );
}

/** Changes as a merge patch. */
export function configurationPatch(text: string): Value {
  return fromJson(ValueSchema, Object.fromEntries(configurationChanges(text)));
}

/** The names and texts to set. */
export function readConfiguration(text: string): Record<string, string> {
  return Object.fromEntries([...configurationChanges(text)].map(([name, value]) => [name, value ?? ""]));
}
