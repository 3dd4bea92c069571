import { timestampDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useState } from "react";
import { type Log, LogService } from "#client/proto/cloakroom/v1/logs_pb.js";
import { type CallProblem, toCallProblem } from "../../api/call-problem.js";
import { ProblemNote } from "../../components/problem-note.js";
import { saveFile } from "../../save-file.js";
import { written } from "./changes.js";
import { writeCsv } from "./csv.js";
import type { logRequest } from "./log-filters.js";

/** Rows of one export. `cloakroom logs` exports any number. */
const MAX_ROWS = 10_000;

/** Saves the rows that the filters match as a CSV file. */
export function ExportRows({ request }: { request: ReturnType<typeof logRequest> }) {
  const client = createClient(LogService, useTransport());
  const [rows, setRows] = useState<number | undefined>();
  const [problem, setProblem] = useState<CallProblem | undefined>();
  const collect = async () => {
    const found: Log[] = [];
    let start: string | undefined;
    do {
      const page = await client.listLogs({
        ...request,
        ...(start === undefined ? {} : { start }),
        size: 100,
      });
      found.push(...page.data);
      start = page.pagination?.next;
      setRows(found.length);
    } while (start !== undefined && found.length < MAX_ROWS);
    save(found.slice(0, MAX_ROWS));
  };
  const run = () => {
    setProblem(undefined);
    setRows(0);
    void collect()
      .catch((error: unknown) => setProblem(toCallProblem(error)))
      .finally(() => setRows(undefined));
  };
  return (
    <>
      {problem && <ProblemNote problem={problem} />}
      <span role="status" className="quiet">
        {rows === undefined ? "" : `${rows} rows`}
      </span>
      <button type="button" disabled={rows !== undefined} onClick={run}>
        Export CSV
      </button>
    </>
  );
}

/** As the API writes them; empty without any. */
function changesText({ changes }: Log): string {
  return changes.map(({ field, before, after }) => `${field}: ${written(before)} → ${written(after)}`).join("; ");
}

function save(rows: readonly Log[]): void {
  const head = [
    ...["created_at", "operation", "entity_type", "entity_id", "actor_type", "actor_id", "message", "outcome", "code"],
    ...["transform", "key_id", "source_ip", "client", "trace_id", "destination_host", "reason", "changes", "id"],
  ];
  const lines = rows.map((row) => [
    row.createdAt ? timestampDate(row.createdAt).toISOString() : "",
    ...[row.operation, row.entityType, row.entityId, row.actorType ?? "", row.actorId ?? "", row.message],
    ...[row.outcome ?? "", row.code ?? "", row.transform ?? "", row.keyId ?? "", row.sourceIp ?? "", row.client ?? ""],
    ...[row.traceId ?? "", row.destinationHost ?? "", row.reason ?? "", changesText(row), row.id],
  ]);
  const time = new Date().toISOString().slice(0, 19).replaceAll(":", "");
  saveFile(`log-${time}.csv`, new Blob([writeCsv([head, ...lines])], { type: "text/csv" }));
}
