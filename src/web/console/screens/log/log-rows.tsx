import { Link } from "wouter";
import type { Log } from "../../../../../clients/typescript/src/proto/cloakroom/v1/logs_pb.js";
import { Empty } from "../../components/loaded.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";

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
        { head: "What", cell: ({ message }) => <bdi dir="auto">{message}</bdi> },
        { head: "Operation", cell: ({ operation }) => operation },
        { head: "Entity", cell: (row) => <Entity {...row} /> },
        { head: "By", cell: ({ actorId, actorType }) => <Actor {...{ actorId, actorType }} /> },
      ]}
    />
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
