import { useId, useState } from "react";
import { Link } from "wouter";
import { ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { type ListLogsResponse, LogService } from "#client/proto/cloakroom/v1/logs_pb.js";
import { TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { type Read, useRead } from "../../api/queries.js";
import { Loaded, Skeleton } from "../../components/loaded.js";
import { Screen } from "../../components/screen.js";
import { DetailList } from "../../components/table.js";
import { localMinute } from "../../local-minute.js";
import { useSession } from "../../session.js";
import { LogRows } from "../log/log-rows.js";
import { ActivityChart } from "./activity-chart.js";
import { FirstSteps, type FirstStepsProps, Reading } from "./first-steps.js";
import { HealthCard } from "./health-card.js";
import { HomeNumbers } from "./home-numbers.js";
import { type Period, PeriodChoice, usePeriod } from "./period.js";
import { TopReaders } from "./top-readers.js";

export function Start() {
  const { who, can } = useSession();
  const period = usePeriod();
  const done = useStepsDone();
  const seesActivity = can("TenantService/GetActivity");
  return (
    <Screen title="Home" actions={seesActivity && <PeriodChoice chosen={period} />}>
      {done ? <HomeContent period={period} done={done} /> : <Skeleton lines={12} />}
      <DetailList
        pairs={[
          ["Tenant", <bdi key="name">{who.tenantName}</bdi>],
          ["Tenant id", <code key="id">{who.tenantId}</code>],
          ["Base URL", <code key="url">{location.origin}</code>],
          ["Your role", who.role],
        ]}
      />
    </Screen>
  );
}

/** What a person has of the first steps. Undefined until it is known. */
function useStepsDone(): FirstStepsProps | undefined {
  const applications = useRead(ApplicationService.method.listApplications, { type: ["private", "public"], size: 1 });
  const tokens = useRead(TokenService.method.searchTokensByCursor, { size: 1 });
  const isRead = ({ isAllowed, data, problem }: Read<unknown>) =>
    !isAllowed || data !== undefined || problem !== undefined;
  if (![applications, tokens].every(isRead)) return undefined;
  return {
    hasApplication: (applications.data?.pagination?.totalItems ?? 0) > 0,
    hasToken: (tokens.data?.data.length ?? 0) > 0,
  };
}

interface HomeProps {
  readonly period: Period;
  readonly done: FirstStepsProps;
}

/** A person who begins sees the steps first. Those that were open stay: links must not move away while somebody reads. */
function HomeContent({ period, done }: HomeProps) {
  const { can } = useSession();
  const [isBeginning] = useState(!(done.hasApplication && done.hasToken));
  const takesSteps = can("ApplicationService/CreateApplication");
  return (
    <>
      {takesSteps && isBeginning && <FirstSteps {...done} />}
      <HomeNumbers period={period} />
      {can("TenantService/GetActivity") && (
        <div className="board">
          <ActivityChart period={period} />
          <HealthCard />
          <TopReaders period={period} />
          <LastCalls period={period} />
        </div>
      )}
      {takesSteps && !isBeginning && (
        <details>
          <summary>First steps</summary>
          <FirstSteps {...done} />
        </details>
      )}
      {!takesSteps && <Reading />}
    </>
  );
}

/** The last refusals, and the last values that people saw, with their reasons. */
function LastCalls({ period: { startDate } }: { period: Period }) {
  const denied = useRead(LogService.method.listLogs, { outcome: "denied", startDate, size: 5 });
  const seen = useRead(LogService.method.listLogs, { actorType: "user", transform: "reveal", startDate, size: 5 });
  const from = localMinute(new Date(startDate));
  return (
    <>
      <LogCard title="Values that people saw" filter={{ transform: "reveal", from }} read={seen} />
      <LogCard title="Denied" filter={{ outcome: "denied", from }} read={denied} />
    </>
  );
}

interface LogCardProps {
  readonly title: string;
  readonly filter: Readonly<Record<string, string>>;
  readonly read: Read<ListLogsResponse>;
}

function LogCard({ title, filter, read }: LogCardProps) {
  const id = useId();
  return (
    <section className="card whole" aria-labelledby={id}>
      <div className="card-head">
        <h2 id={id}>{title}</h2>
        <Link href={`/log?${new URLSearchParams(filter)}`}>In the log</Link>
      </div>
      <Loaded read={read}>
        {({ data }) => (data.length === 0 ? <p>None in this period.</p> : <LogRows rows={data} label={title} />)}
      </Loaded>
    </section>
  );
}
