import { TenantService, type TokenReport } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { useRead } from "../api/queries.js";
import { Empty, Loaded } from "../components/loaded.js";
import { Screen } from "../components/screen.js";
import { ShareBar } from "../components/share-bar.js";
import { DetailList, Table } from "../components/table.js";
import { Time } from "../components/time.js";

const NUMBER = new Intl.NumberFormat();

/** How many tokens there are, by type, and how many count for this month. */
export default function Usage() {
  const usage = useRead(TenantService.method.getUsageReport, {});
  return (
    <Screen title="Usage">
      <Loaded read={usage}>{({ tokenReport }) => (tokenReport ? <Report report={tokenReport} /> : null)}</Loaded>
    </Screen>
  );
}

function Report({ report }: { report: TokenReport }) {
  const { metricsByType, monthlyActiveTokens, includedMonthlyActiveTokens: included } = report;
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
