import { CopyButton } from "../../components/text.js";

/** A key that was just made. It is not kept anywhere in the page: leaving it loses it. */
export function NewKey({ secret }: { secret: string }) {
  return (
    <div className="note good">
      <p>
        <strong>Copy the key now.</strong> It is not shown again.
      </p>
      <p className="secret" data-secret>
        {secret}
      </p>
      <CopyButton text={secret} label="Copy key" />
    </div>
  );
}
