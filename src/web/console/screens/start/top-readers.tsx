import { Link } from "wouter";
import { type ActivityGroup, TenantService } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { useRead } from "../../api/queries.js";
import { wholeNumber } from "../../charts/scale.js";
import { Loaded } from "../../components/loaded.js";
import { ShareBar } from "../../components/share-bar.js";
import { localMinute } from "../../local-minute.js";
import { Author } from "../author.js";
import { useNames } from "../names.js";
import type { Period } from "./period.js";

const SHOWN = 5;
const DAY_MS = 86_400_000;

/** Who saw the most values in the clear, and how often each was refused. */
export function TopReaders({ period: { startDate, step } }: { period: Period }) {
  const activity = useRead(TenantService.method.getActivity, { startDate, step, by: "actor" });
  const from = new Date(Math.floor(Date.parse(startDate) / DAY_MS) * DAY_MS);
  return (
    <section className="card whole" aria-labelledby="readers">
      <h2 id="readers">Most values in the clear</h2>
      <Loaded read={activity} lines={5}>
        {({ groups }) => <Readers groups={groups.filter(({ counts }) => (counts?.revealed ?? 0n) > 0n)} from={from} />}
      </Loaded>
      <p className="quiet">
        In whole days since {from.toISOString().slice(0, 10)}, in UTC. A proxy or reactor that used a value counts for
        the application that called it.
      </p>
    </section>
  );
}

function Readers({ groups, from }: { groups: readonly ActivityGroup[]; from: Date }) {
  const shown = groups.slice(0, SHOWN);
  const names = useNames(shown.map(({ name, actorId }) => [name, actorId] as const));
  if (shown.length === 0) return <p>Nobody saw a value in the clear.</p>;
  const most = shown.reduce((top, { counts }) => ((counts?.revealed ?? 0n) > top ? (counts?.revealed ?? 0n) : top), 0n);
  return (
    <ol className="readers">
      {shown.map(({ name: type, actorId, counts }) => {
        const reveals = counts?.revealed ?? 0n;
        const query = { transform: "reveal", actor_id: actorId ?? "", from: localMinute(from) };
        return (
          <li key={`${type} ${actorId}`}>
            {actorId === undefined ? (
              <span>all others</span>
            ) : (
              <Link href={`/log?${new URLSearchParams(query)}`} title={actorId}>
                <Author id={actorId} names={names} />
              </Link>
            )}{" "}
            <span className="quiet">{type}</span>
            <strong>{wholeNumber(Number(reveals))}</strong>
            <ShareBar part={reveals} whole={most} colour="reveal" />
          </li>
        );
      })}
    </ol>
  );
}
