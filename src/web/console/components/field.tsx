import { type ReactNode, useId } from "react";

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly help?: ReactNode;
  readonly problem?: string | undefined;
  readonly type?: "text" | "email" | "password" | "number" | "datetime-local";
  readonly isRequired?: boolean;
  readonly placeholder?: string;
  readonly autoComplete?: string;
}

export function TextField(props: FieldProps) {
  const { label, value, onChange, help, problem, type = "text", isRequired = false, autoComplete = "off" } = props;
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type={type}
        value={value}
        autoComplete={autoComplete}
        required={isRequired}
        {...(props.placeholder === undefined ? {} : { placeholder: props.placeholder })}
        aria-describedby={`${id}-help`}
        aria-invalid={problem !== undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      <FieldHelp id={id} help={help} problem={problem} />
    </div>
  );
}

/** The required name of an entity. */
export function NameField(props: Pick<FieldProps, "value" | "onChange" | "problem">) {
  return <TextField label="Name" isRequired {...props} />;
}

/** A labelled text of several lines. */
export function TextArea(props: FieldProps & { readonly rows?: number }) {
  const { label, value, onChange, help, problem, rows = 4 } = props;
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        spellCheck={false}
        autoComplete="off"
        aria-describedby={`${id}-help`}
        aria-invalid={problem !== undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      <FieldHelp id={id} help={help} problem={problem} />
    </div>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [T, string])[];
  readonly onChange: (value: T) => void;
  readonly help?: ReactNode;
}

/** One of a few values, as the browser's own list. */
export function Choice<T extends string>({ label, value, options, onChange, help }: ChoiceProps<T>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={`${id}-help`}
        onChange={(event) => {
          const chosen = options.find(([option]) => option === event.target.value);
          if (chosen) onChange(chosen[0]);
        }}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      <FieldHelp id={id} help={help} problem={undefined} />
    </div>
  );
}

function FieldHelp({ id, help, problem }: { id: string; help: ReactNode; problem: string | undefined }) {
  return (
    <div id={`${id}-help`} className="help">
      {problem === undefined ? help : <span className="wrong">{problem}</span>}
    </div>
  );
}
