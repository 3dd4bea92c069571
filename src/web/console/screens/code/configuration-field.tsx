import { fromJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { TextArea } from "../../components/field.js";

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
export function configurationOf(text: string): Record<string, string> {
  return Object.fromEntries([...configurationChanges(text)].map(([name, value]) => [name, value ?? ""]));
}

interface ConfigurationFieldProps {
  /** The names that are set now. Their values are hidden from people. */
  readonly names: readonly string[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function ConfigurationField({ names, value, onChange }: ConfigurationFieldProps) {
  const known = names.length === 0 ? "" : ` Set now, with hidden values: ${names.join(", ")}.`;
  return (
    <TextArea
      {...{ value, onChange, rows: 3 }}
      label="Configuration to set"
      help={`A line NAME=value sets an entry, and NAME alone removes it.${known}`}
    />
  );
}
