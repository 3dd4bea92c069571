import { Link } from "wouter";
import { ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { LogService } from "#client/proto/cloakroom/v1/logs_pb.js";
import { TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { useRead } from "../../api/queries.js";
import { Loaded } from "../../components/loaded.js";
import { Screen } from "../../components/screen.js";
import { DetailList } from "../../components/table.js";
import { useSession } from "../../session.js";
import { LogRows } from "../log/log-rows.js";
import { ActivityChart } from "./activity-chart.js";
import { FirstSteps, Reading } from "./first-steps.js";
import { HealthCard } from "./health-card.js";
import { HomeNumbers } from "./home-numbers.js";
import { PeriodChoice, usePeriod } from "./period.js";
import { TopReaders } from "./top-readers.js";

/** What happened, whether all is well, and what to do next. */
export function Start() {
  const { who, can } = useSession();
  const period = usePeriod();
  const seesActivity = can("TenantService/GetActivity");
  return (
    <Screen title="Home" actions={seesActivity && <PeriodChoice chosen={period} />}>
      <HomeNumbers period={period} />
      {seesActivity && (
        <div className="board">
          <ActivityChart period={period} />
          <HealthCard />
          <TopReaders period={period} />
          <LastRows />
        </div>
      )}
      <NextSteps />
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

/** The first steps are open until there is a token. */
function NextSteps() {
  const { can } = useSession();
  const applications = useRead(ApplicationService.method.listApplications, { type: ["private", "public"], size: 1 });
  const tokens = useRead(TokenService.method.searchTokensByCursor, { size: 1 });
  const done = {
    hasApplication: (applications.data?.pagination?.totalItems ?? 0) > 0,
    hasToken: (tokens.data?.data.length ?? 0) > 0,
  };
  if (!can("ApplicationService/CreateApplication")) return <Reading />;
  if (!done.hasApplication || !done.hasToken) return <FirstSteps {...done} />;
  return (
    <details>
      <summary>First steps</summary>
      <FirstSteps {...done} />
    </details>
  );
}

function LastRows() {
  const logs = useRead(LogService.method.listLogs, { size: 5 });
  return (
    <section className="card whole" aria-labelledby="last">
      <div className="card-head">
        <h2 id="last">Last calls</h2>
        <Link href="/log">All</Link>
      </div>
      <Loaded read={logs}>{({ data }) => <LogRows rows={data} label="Last rows of the log" />}</Loaded>
    </section>
  );
}
