import { useState } from "react";
import { useSearchParams } from "wouter";
import { LogService } from "#client/proto/cloakroom/v1/logs_pb.js";
import { useRead } from "../../api/queries.js";
import { Loaded } from "../../components/loaded.js";
import { CursorPages } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { ExportRows } from "./export-rows.js";
import { FilterForm } from "./filter-form.js";
import { logRequest, readFilters, windowStart } from "./log-filters.js";
import { LogRows } from "./log-rows.js";
import { TraceTimeline } from "./trace-timeline.js";

/** The log explorer: who did what to which entity, and how it ended. All filters are in the address. */
export default function LogExplorer() {
  const [params] = useSearchParams();
  const [now] = useState(() => Date.now());
  const filters = readFilters(params);
  const start = params.get("start");
  const request = logRequest(filters, now);
  const logs = useRead(LogService.method.listLogs, {
    ...request,
    ...(start === null ? {} : { start }),
    wholeCalls: true,
    size: 50,
  });
  const since = windowStart(filters, now);
  return (
    <Screen title="Log" actions={<ExportRows request={request} />}>
      <FilterForm key={params.toString()} filters={filters} />
      {since && filters.from === "" && (
        <p className="quiet">
          Rows since {since.toLocaleString()}: these filters search a day unless you name a time, of at most 31 days.
        </p>
      )}
      <Loaded read={logs} lines={12}>
        {({ data, pagination }) => (
          <>
            {data.length === 0 && pagination?.next ? (
              <p>No row up to here matches. Older rows follow on the next page.</p>
            ) : filters.trace_id !== "" && data.length > 0 ? (
              <TraceTimeline rows={data} />
            ) : (
              <LogRows rows={data} label="Rows of the log" />
            )}
            <CursorPages next={pagination?.next} />
          </>
        )}
      </Loaded>
    </Screen>
  );
}
