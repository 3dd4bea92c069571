import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { type Health, TenantService } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { useRead } from "../../api/queries.js";
import { wholeNumber } from "../../charts/scale.js";
import { Loaded } from "../../components/loaded.js";
import { Time } from "../../components/time.js";

const DAY_MS = 86_400_000;

/** Whether the log is sealed and delivered, and how old keys are. */
export function HealthCard() {
  const health = useRead(TenantService.method.getHealth, {});
  return (
    <section className="card" aria-labelledby="health">
      <h2 id="health">Health</h2>
      <Loaded read={health} lines={6}>
        {(found) => <Parts health={found} />}
      </Loaded>
    </section>
  );
}

function Parts({ health }: { health: Health }) {
  const { sealedUntil, outages, receivers, keysCreatedAt, applicationKeys, oldApplicationKeys } = health;
  const since = (part: string) => outages.find((outage) => outage.part === part)?.since;
  const sealing = since("sealing");
  const days = keysCreatedAt && Math.floor((Date.now() - timestampMs(keysCreatedAt)) / DAY_MS);
  return (
    <ul className="health">
      <Part name="Log sealed" isWell={!sealing}>
        {sealing ? (
          <>
            late since <Time at={sealing} />
          </>
        ) : (
          ((sealedUntil && <Time at={sealedUntil} />) ?? "no row yet")
        )}
      </Part>
      {receivers.map(({ name, sentUntil }) => (
        <Part key={name} name={`Log to ${name}`} isWell={!since(name)}>
          {since(name) && "late, "}has rows until <Time at={sentUntil} />
        </Part>
      ))}
      <Part name="Keys of values" isWell>
        {days === undefined ? "none" : days === 0 ? "made today" : `made ${wholeNumber(days)} days ago`}
      </Part>
      <Part name="Keys of applications" isWell={oldApplicationKeys === 0n}>
        {wholeNumber(Number(applicationKeys))}
        {oldApplicationKeys > 0n && (
          <>
            , <Link href="/applications">{wholeNumber(Number(oldApplicationKeys))} older than a year</Link>
          </>
        )}
      </Part>
    </ul>
  );
}

function Part({ name, isWell, children }: { name: string; isWell: boolean; children: ReactNode }) {
  return (
    <li>
      <span>{name}</span>
      <span className="quiet">{children}</span>
      <span className={isWell ? "pill good" : "pill bad"}>{isWell ? "well" : "look"}</span>
    </li>
  );
}
