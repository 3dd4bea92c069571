import { useState } from "react";
import { type ActivityGroup, TenantService, type TokenReport } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { useRead } from "../api/queries.js";
import { ACTIVITY_SERIES, activityBars, seriesValues } from "../charts/activity-series.js";
import { BarChart } from "../charts/bar-chart.js";
import { Empty, Loaded } from "../components/loaded.js";
import { Screen } from "../components/screen.js";
import { ShareBar } from "../components/share-bar.js";
import { DetailList, Table } from "../components/table.js";
import { Time } from "../components/time.js";

const NUMBER = new Intl.NumberFormat();
/** Counts are kept for 400 days. */
const MONTHS = 12;

/** How many tokens there are, by type, and how many count for this month. */
export default function Usage() {
  const usage = useRead(TenantService.method.getUsageReport, {});
  return (
    <Screen title="Usage">
      <Loaded read={usage}>{({ tokenReport }) => (tokenReport ? <Report report={tokenReport} /> : null)}</Loaded>
      <Months />
    </Screen>
  );
}

function Report({ report }: { report: TokenReport }) {
  const { metricsByType, monthlyActiveTokens, activeByMonth, includedMonthlyActiveTokens: included } = report;
  const rows = Object.entries(metricsByType).map(([type, metrics]) => ({ type, ...metrics }));
  const all = rows.reduce((sum, { count }) => sum + count, 0n);
  return (
    <>
      <DetailList
        pairs={[
          ["Active this month", NUMBER.format(monthlyActiveTokens)],
          ["Included in the plan", included > 0n ? NUMBER.format(included) : "no limit set by the operator"],
        ]}
      />
      <section aria-labelledby="active">
        <h2 id="active">Active tokens by month</h2>
        <BarChart
          label="Active tokens by month"
          step="Month"
          unchosen="last"
          series={[{ colour: "other", words: "created, read or used" }]}
          bars={activeByMonth.map(({ month, count }) => ({
            key: month,
            label: month.slice(0, 7),
            title: month.slice(0, 7),
            values: [Number(count)],
          }))}
        />
      </section>
      {rows.length === 0 ? (
        <Empty>
          <p>There are no tokens yet.</p>
        </Empty>
      ) : (
        <Table
          label="Tokens by type"
          rows={rows}
          keyOf={({ type }) => type}
          columns={[
            { head: "Type", cell: ({ type }) => type },
            { head: "Tokens", isNumber: true, cell: ({ count }) => NUMBER.format(count) },
            { head: "Share", cell: ({ count }) => <ShareBar part={count} whole={all} /> },
            { head: "Last created", cell: ({ lastCreatedAt }) => <Time at={lastCreatedAt} /> },
          ]}
        />
      )}
    </>
  );
}

/** What was done in each month, and by kind. */
function Months() {
  const [now] = useState(() => new Date());
  const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - MONTHS + 1, 1));
  const input = { startDate: start.toISOString(), step: "month", by: "operation" };
  const activity = useRead(TenantService.method.getActivity, input);
  if (!activity.isAllowed) return null;
  return (
    <section aria-labelledby="operations">
      <h2 id="operations">Operations by month</h2>
      <Loaded read={activity} lines={8}>
        {(found) => (
          <>
            <BarChart
              label="Operations by month"
              step="Month in UTC"
              series={ACTIVITY_SERIES}
              bars={activityBars(found, "month")}
            />
            <Table
              label="Operations of the last year by kind"
              rows={found.groups}
              keyOf={({ name }) => name}
              columns={[
                { head: "Operation", cell: ({ name }) => name },
                ...ACTIVITY_SERIES.map(({ words }, index) => ({
                  head: words,
                  isNumber: true,
                  cell: ({ counts }: ActivityGroup) => NUMBER.format(seriesValues(counts)[index] ?? 0),
                })),
              ]}
            />
          </>
        )}
      </Loaded>
    </section>
  );
}
