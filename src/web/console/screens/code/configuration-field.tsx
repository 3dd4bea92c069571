import { TextArea } from "../../components/field.js";

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
      value={value}
      onChange={onChange}
      rows={3}
      label="Configuration to set"
      help={`A line NAME=value sets an entry, and NAME alone removes it.${known}`}
    />
  );
}
