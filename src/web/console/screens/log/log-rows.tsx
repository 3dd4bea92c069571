import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Link } from "wouter";
import type { Log } from "#client/proto/cloakroom/v1/logs_pb.js";
import { Empty } from "../../components/loaded.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { Changes } from "./changes.js";
import { paramsOf } from "./log-filters.js";

const DAY_MS = 86_400_000;

/** Rows of the log, newest first. Actor and entity lead to their own rows. */
export function LogRows({ rows, label }: { rows: readonly Log[]; label: string }) {
  if (rows.length === 0) {
    return (
      <Empty>
        <p>There are no rows. Each call that reads or changes something leaves one.</p>
      </Empty>
    );
  }
  return (
    <Table
      label={label}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { head: "When", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { head: "What", cell: (row) => <What row={row} /> },
        { head: "Operation", cell: ({ operation }) => operation },
        { head: "Entity", cell: (row) => <Entity {...row} /> },
        { head: "By", cell: ({ actorId, actorType }) => <Actor {...{ actorId, actorType }} /> },
        { head: "Outcome", cell: (row) => <Outcome row={row} /> },
        { head: "Trace", cell: ({ traceId, createdAt }) => <Trace {...{ traceId, createdAt }} /> },
      ]}
    />
  );
}

function What({ row: { message, changes } }: { row: Log }) {
  return (
    <>
      <bdi dir="auto">{message}</bdi>
      <Changes changes={changes} />
    </>
  );
}

function Entity({ entityType, entityId }: Pick<Log, "entityType" | "entityId">) {
  const query = new URLSearchParams({ entity_type: entityType, entity_id: entityId });
  return (
    <>
      {entityType}{" "}
      <Link href={`/log?${query}`}>
        <Name>{entityId}</Name>
      </Link>
    </>
  );
}

function Actor({ actorId, actorType }: { actorId: string | undefined; actorType: string | undefined }) {
  if (actorId === undefined) return <span className="quiet">the server</span>;
  return (
    <>
      {actorType}{" "}
      {actorType === "application" ? (
        <Link href={`/applications?${new URLSearchParams({ id: actorId })}`}>
          <Name>{actorId}</Name>
        </Link>
      ) : (
        <Name>{actorId}</Name>
      )}
    </>
  );
}

/** How it ended, how a token was shown, where to, from where and why. */
function Outcome({ row: { outcome, code, transform, destinationHost, sourceIp, reason } }: { row: Log }) {
  const details = [code, transform, destinationHost && `to ${destinationHost}`, sourceIp && `from ${sourceIp}`];
  return (
    <>
      {outcome && <span className={outcome === "allowed" ? "tag" : "tag bad"}>{outcome}</span>}{" "}
      {details.filter(Boolean).join(", ")}
      {reason && (
        <>
          : <bdi dir="auto">“{reason}”</bdi>
        </>
      )}
    </>
  );
}

/** Leads to all rows of the same request. Rows are found by trace within a day of the row. */
function Trace({ traceId, createdAt }: Pick<Log, "traceId" | "createdAt">) {
  if (traceId === undefined || !createdAt) return null;
  const near = (ms: number) => localMinute(new Date(timestampMs(createdAt) + ms));
  const query = paramsOf({ trace_id: traceId, from: near(-DAY_MS), to: near(DAY_MS) });
  return (
    <Link href={`/log?${query}`} title={traceId}>
      {traceId.slice(-8)}
    </Link>
  );
}

/** As the browser's time field writes it. */
function localMinute(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
