import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Link } from "wouter";
import type { Log } from "#client/proto/cloakroom/v1/logs_pb.js";
import { entityAddress } from "../../components/entity-link.js";
import { Exposure } from "../../components/exposure.js";
import { Empty } from "../../components/loaded.js";
import { Table } from "../../components/table.js";
import { Time } from "../../components/time.js";
import { filledParams } from "../../filled-params.js";
import { localMinute } from "../../local-minute.js";
import { Author } from "../author.js";
import { type Mention, type Names, useNames } from "../names.js";
import { Changes } from "./changes.js";
import { groupCalls, type LogCall } from "./log-calls.js";

/** The entity of a list or search. */
const EVERY = "*";
const DAY_MS = 86_400_000;

/** Who acted, on what, and by what. */
export function mentionsIn({ actorType, actorId, entityType, entityId, viaType, viaId }: Log): Mention[] {
  return [
    [actorType, actorId],
    [entityType, entityId],
    [viaType, viaId],
  ];
}

interface LogRowsProps {
  readonly rows: readonly Log[];
  readonly label: string;
}

/** The log, newest first, a line for each call. Actor and entity lead to their own rows. */
export function LogRows({ rows, label }: LogRowsProps) {
  const names = useNames(rows.flatMap(mentionsIn));
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
      rows={groupCalls(rows)}
      keyOf={({ first }) => first.id}
      columns={[
        { head: "When", cell: ({ first: { createdAt } }) => <Time at={createdAt} /> },
        { head: "By", cell: ({ first }) => <Actor row={first} names={names} /> },
        { head: "What", cell: (call) => <What call={call} names={names} /> },
        { head: "Outcome", cell: ({ first }) => <Outcome row={first} names={names} /> },
        { head: "Trace", cell: ({ first }) => <Trace row={first} /> },
      ]}
    />
  );
}

interface RowProps {
  readonly row: Log;
  readonly names: Names;
}

function What({ call: { first, others }, names }: { call: LogCall; names: Names }) {
  return (
    <>
      <Sentence row={first} names={names} />
      {others.length > 0 && (
        <details>
          <summary>
            {others.length} more {others.length === 1 ? "row" : "rows"} of this call
          </summary>
          <ol className="call-rows">
            {others.map((row) => (
              <li key={row.id}>
                <Sentence row={row} names={names} /> <Outcome row={row} names={names} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

/** What was done to what. */
export function Sentence({ row, names }: RowProps) {
  const { message, operation, entityType, entityId, changes } = row;
  const query = new URLSearchParams({ entity_type: entityType, entity_id: entityId });
  return (
    <div className="sentence">
      <bdi dir="auto" title={`${operation} of ${entityType}`}>
        {message}
      </bdi>{" "}
      {entityId !== EVERY && (
        <Link href={`/log?${query}`}>
          <Author id={entityId} names={names} />
        </Link>
      )}
      <Changes changes={changes} />
    </div>
  );
}

export function Actor({ row: { actorId, actorType }, names }: RowProps) {
  if (actorId === undefined) return <span className="quiet">the server</span>;
  const href =
    actorType === "application"
      ? entityAddress("/applications", actorId)
      : `/log?${new URLSearchParams({ actor_id: actorId })}`;
  return (
    <>
      <Link href={href} title={actorId}>
        <Author id={actorId} names={names} />
      </Link>
      {/* An application may have a member's address as its name. */}
      {actorType !== "user" && <span className="quiet"> {actorType}</span>}
    </>
  );
}

/** How it ended, how much of a value was shown, where to, by what, from where and why. */
export function Outcome({ row, names }: RowProps) {
  const { outcome, code, transform, destinationHost, viaType, viaId, sourceIp, reason } = row;
  const via = viaId !== undefined && `by ${viaType} ${names.get(viaId)?.name ?? viaId}`;
  const details = [code, destinationHost && `to ${destinationHost}`, via, sourceIp && `from ${sourceIp}`];
  return (
    <>
      {outcome && <span className={outcome === "allowed" ? "pill good" : "pill bad"}>{outcome}</span>}{" "}
      {transform && <Exposure transform={transform} />} {details.filter(Boolean).join(", ")}
      {reason && (
        <>
          : <bdi dir="auto">“{reason}”</bdi>
        </>
      )}
    </>
  );
}

/** Leads to all rows of the same request. Rows are found by trace within a day of the row. */
function Trace({ row: { traceId, createdAt } }: { row: Log }) {
  if (traceId === undefined || !createdAt) return null;
  const near = (ms: number) => localMinute(new Date(timestampMs(createdAt) + ms));
  const query = filledParams({ trace_id: traceId, from: near(-DAY_MS), to: near(DAY_MS) });
  return (
    <Link href={`/log?${query}`} title={traceId} className="id">
      {traceId.slice(-8)}
    </Link>
  );
}
