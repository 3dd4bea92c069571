import { CopyButton } from "./text.js";

interface NewSecretProps {
  readonly secret: string;
  /** What it is. */
  readonly name: "key" | "secret";
}

/** A key or secret that was just made. It is not kept anywhere in the page: leaving it loses it. */
export function NewSecret({ secret, name }: NewSecretProps) {
  return (
    <div className="note good">
      <p>
        <strong>Copy the {name} now.</strong> It is not shown again.
      </p>
      <p className="secret" data-secret>
        {secret}
      </p>
      <CopyButton text={secret} label={`Copy ${name}`} />
    </div>
  );
}
