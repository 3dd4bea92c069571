import type { CodeError, ConsoleLine, TestedCall } from "#client/proto/cloakroom/v1/functions_pb.js";
import { Table } from "../../components/table.js";

interface RunOutputProps {
  readonly error?: CodeError | undefined;
  readonly console: readonly ConsoleLine[];
  readonly durationMs?: number | undefined;
  readonly memoryBytes?: number | undefined;
}

export function RunOutput({ error, console, durationMs, memoryBytes }: RunOutputProps) {
  return (
    <div className="stack">
      {error && <RunError error={error} />}
      {console.length > 0 && (
        <ul className="console" aria-label="Console output">
          {console.map(({ level, text }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines of a finished run never move
            <li key={index} data-level={level}>
              <span className="quiet">{level}</span> {text}
            </li>
          ))}
        </ul>
      )}
      <p className="quiet">
        {durationMs === undefined ? "" : `${durationMs} ms`}
        {memoryBytes === undefined ? "" : `, ${(memoryBytes / 1_048_576).toFixed(1)} MiB`}
      </p>
    </div>
  );
}

function RunError({ error: { status, detail, position } }: { error: CodeError }) {
  return (
    <div className="note problem" role="alert">
      <p>
        {detail} <span className="quiet">(status {status})</span>
      </p>
      {position && (
        <p>
          Line {position.line}, column {position.column}
        </p>
      )}
    </div>
  );
}

/** The calls that code made to the outside during a test run. */
export function TestedCalls({ calls }: { calls: readonly TestedCall[] }) {
  if (calls.length === 0) return null;
  const rows = calls.map((call, index) => ({ ...call, index }));
  return (
    <Table
      label="Calls of the code"
      rows={rows}
      keyOf={({ index }) => String(index)}
      columns={[
        { head: "To", cell: ({ to, url }) => url ?? to },
        { head: "Method", cell: ({ method }) => method },
        { head: "Answered by", cell: ({ answeredBy }) => answeredBy },
        { head: "Status", isNumber: true, cell: ({ status }) => status },
      ]}
    />
  );
}
