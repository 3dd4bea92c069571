import { toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Log, LogChange } from "#client/proto/cloakroom/v1/logs_pb.js";

/** What an operation changed of rights, roles or settings, below what it was. */
export function Changes({ changes }: Pick<Log, "changes">) {
  if (changes.length === 0) return null;
  return (
    <details>
      <summary>{changes.map(({ field }) => field).join(", ")}</summary>
      <dl>
        {changes.map((change) => (
          <Change key={change.field} change={change} />
        ))}
      </dl>
    </details>
  );
}

function Change({ change: { field, before, after } }: { change: LogChange }) {
  return (
    <>
      <dt>{field}</dt>
      <dd>
        <del>{written(before)}</del> <ins>{written(after)}</ins>
      </dd>
    </>
  );
}

/** A value as text; "nothing" for none. */
export function written(value: Value | undefined): string {
  const json = value && toJson(ValueSchema, value);
  if (json === undefined || json === null) return "nothing";
  return typeof json === "string" ? json : JSON.stringify(json);
}
