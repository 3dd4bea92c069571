import { ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { type Activity, TenantService } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { useRead } from "../../api/queries.js";
import { activitySum, operationsIn } from "../../charts/activity-series.js";
import { wholeNumber } from "../../charts/scale.js";
import { Spark } from "../../charts/spark.js";
import { Metric, Metrics } from "../../components/metric.js";
import { localMinute } from "../../local-minute.js";
import type { Period } from "./period.js";

/** What the tenant has and what happened in the period, as the server counts it. */
export function HomeNumbers({ period }: { period: Period }) {
  const activity = useRead(TenantService.method.getActivity, { startDate: period.startDate, step: period.step });
  const usage = useRead(TenantService.method.getUsageReport, {});
  const applications = useRead(ApplicationService.method.listApplications, { size: 1 });
  const { metricsByType, monthlyActiveTokens, activeByMonth = [] } = usage.data?.tokenReport ?? {};
  const tokens = metricsByType && Object.values(metricsByType).reduce((sum, { count }) => sum + count, 0n);
  return (
    <Metrics>
      {activity.isAllowed && <ActivityNumbers activity={activity.data} period={period} />}
      {usage.isAllowed && <Metric label="Tokens" value={numberText(tokens)} href="/tokens" />}
      {usage.isAllowed && (
        <Metric
          label="Tokens active this month"
          value={numberText(monthlyActiveTokens)}
          href="/usage"
          spark={<Spark colour="good" values={activeByMonth.map(({ count }) => Number(count))} />}
        />
      )}
      {applications.isAllowed && (
        <Metric
          label="Applications"
          value={numberText(applications.data?.pagination?.totalItems)}
          href="/applications"
        />
      )}
    </Metrics>
  );
}

function ActivityNumbers({ activity, period }: { activity: Activity | undefined; period: Period }) {
  const { startDate } = period;
  const from = localMinute(new Date(startDate));
  const numbers = (name: "revealed" | "denied") =>
    activity?.data.map(({ counts }) => Number(counts?.[name] ?? 0n)) ?? [];
  const totals = activity?.data.map(({ counts }) => operationsIn(counts));
  const rows = (filter: Record<string, string>) => `/log?${new URLSearchParams({ ...filter, from })}`;
  return (
    <>
      <Metric
        label="Operations"
        value={totals && wholeNumber(totals.reduce((sum, value) => sum + value, 0))}
        href={rows({})}
        spark={<Spark colour="other" values={totals ?? []} />}
      />
      <Metric
        label="Values in the clear"
        value={activity && wholeNumber(activitySum(activity, "revealed"))}
        href={rows({ transform: "reveal" })}
        spark={<Spark colour="reveal" values={numbers("revealed")} />}
      />
      <Metric
        label="Denied"
        value={activity && wholeNumber(activitySum(activity, "denied"))}
        href={rows({ outcome: "denied" })}
        spark={<Spark colour="denied" values={numbers("denied")} />}
      />
    </>
  );
}

function numberText(count: bigint | number | undefined): string | undefined {
  return count === undefined ? undefined : wholeNumber(Number(count));
}
