import { TenantService } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { useRead } from "../../api/queries.js";
import { ACTIVITY_SERIES, activityBars, operationsIn } from "../../charts/activity-series.js";
import { BarChart } from "../../charts/bar-chart.js";
import { Loaded } from "../../components/loaded.js";
import { Time } from "../../components/time.js";
import type { Period } from "./period.js";

export function ActivityChart({ period: { startDate, step, words } }: { period: Period }) {
  const activity = useRead(TenantService.method.getActivity, { startDate, step });
  return (
    <section className="card wide" aria-labelledby="activity">
      <h2 id="activity">Operations by what the caller saw, {words}</h2>
      <Loaded read={activity} lines={8}>
        {(found) => (
          <>
            {found.data.every(({ counts }) => operationsIn(counts) === 0) && (
              <p className="quiet">Nothing happened in this period.</p>
            )}
            <BarChart
              label="Operations by what the caller saw"
              step={step === "hour" ? "Hour" : "Day in UTC"}
              series={ACTIVITY_SERIES}
              bars={activityBars(found, step)}
            />
            <p className="quiet">
              One operation for each row of the log
              {found.countedUntil ? (
                <>
                  , counted until <Time at={found.countedUntil} />.
                </>
              ) : (
                "."
              )}
            </p>
          </>
        )}
      </Loaded>
    </section>
  );
}
