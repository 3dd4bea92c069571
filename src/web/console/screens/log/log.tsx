import { useSearchParams } from "wouter";
import { LogService } from "../../../../../clients/typescript/src/proto/cloakroom/v1/logs_pb.js";
import { useRead } from "../../api/queries.js";
import { Choice, TextField } from "../../components/field.js";
import { Loaded } from "../../components/loaded.js";
import { CursorPages } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { useDraft } from "../../use-draft.js";
import { ExportRows } from "./export-rows.js";
import { filtersOf, type LogFilters, utcOf } from "./log-filters.js";
import { LogRows } from "./log-rows.js";

/** The log explorer: who did what to which entity, within a time. All filters are in the address. */
export default function LogExplorer() {
  const [params] = useSearchParams();
  const filters = filtersOf(params);
  const start = params.get("start");
  const logs = useRead(LogService.method.listLogs, {
    ...(filters.entityType === "" ? {} : { entityType: filters.entityType }),
    ...(filters.entityId === "" ? {} : { entityId: filters.entityId }),
    ...(filters.from === "" ? {} : { startDate: utcOf(filters.from) }),
    ...(filters.to === "" ? {} : { endDate: utcOf(filters.to) }),
    ...(start === null ? {} : { start }),
    size: 50,
  });
  return (
    <Screen title="Log" actions={<ExportRows filters={filters} />}>
      <Filters key={params.toString()} filters={filters} />
      <Loaded read={logs} lines={12}>
        {({ data, pagination }) => (
          <>
            <LogRows rows={data} label="Rows of the log" />
            <CursorPages next={pagination?.next} />
          </>
        )}
      </Loaded>
    </Screen>
  );
}

function Filters({ filters }: { filters: LogFilters }) {
  const [, setParams] = useSearchParams();
  const [draft, set] = useDraft(filters);
  const types = useRead(LogService.method.listLogEntityTypes, {});
  const apply = (next: LogFilters) => {
    const entries = {
      ...{ entity_type: next.entityType, entity_id: next.entityId.trim(), from: next.from, to: next.to },
    };
    setParams(new URLSearchParams(Object.entries(entries).filter(([, value]) => value !== "")));
  };
  const options = (types.data?.data ?? []).map(({ value, displayName }): [string, string] => [value, displayName]);
  const known = options.some(([value]) => value === draft.entityType) || draft.entityType === "";
  const all: [string, string][] = [["", "Every type"], ...options, ...(known ? [] : [pairOf(draft.entityType)])];
  return (
    <form
      className="filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault();
        apply(draft);
      }}
    >
      <Choice label="Entity type" value={draft.entityType} options={all} onChange={set("entityType")} />
      <TextField label="Entity id" value={draft.entityId} onChange={set("entityId")} />
      <TextField label="From (your time)" type="datetime-local" value={draft.from} onChange={set("from")} />
      <TextField label="Before (your time)" type="datetime-local" value={draft.to} onChange={set("to")} />
      <div className="actions">
        <button type="submit" className="primary">
          Filter
        </button>
        <button type="button" onClick={() => apply({ entityType: "", entityId: "", from: "", to: "" })}>
          Clear
        </button>
      </div>
    </form>
  );
}

function pairOf(text: string): [string, string] {
  return [text, text];
}
