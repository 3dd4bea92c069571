import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Log } from "#client/proto/cloakroom/v1/logs_pb.js";
import { DetailList } from "../../components/table.js";
import { Time } from "../../components/time.js";
import { useNames } from "../names.js";
import { Actor, mentionsIn, Outcome, Sentence } from "./log-rows.js";

/** The rows of one trace as they happened, oldest first, with the milliseconds since the first. */
export function TraceTimeline({ rows }: { rows: readonly Log[] }) {
  const names = useNames(rows.flatMap(mentionsIn));
  const steps = rows.toReversed();
  const [first] = steps;
  if (!first) return null;
  const start = first.createdAt ? timestampMs(first.createdAt) : 0;
  const { traceId, client, sourceIp, keyId, createdAt } = first;
  return (
    <>
      <DetailList
        pairs={[
          ["Trace", <code key="trace">{traceId}</code>],
          ["Began", <Time key="began" at={createdAt} />],
          ["By", <Actor key="by" row={first} names={names} />],
          ["Key or session", keyId && <code key="key">{keyId}</code>],
          ["From", [sourceIp, client].filter(Boolean).join(", ")],
          ["Rows", rows.length],
        ]}
      />
      <ol className="timeline" aria-label="What happened">
        {steps.map((row) => (
          <li key={row.id} data-outcome={row.outcome}>
            <span className="quiet number">{row.createdAt ? `${timestampMs(row.createdAt) - start} ms` : ""}</span>
            <div className="stack">
              <Sentence row={row} names={names} />
              <div>
                <Outcome row={row} names={names} />
              </div>
            </div>
          </li>
        ))}
      </ol>
    </>
  );
}
