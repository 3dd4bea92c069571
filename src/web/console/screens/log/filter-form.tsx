import { useState } from "react";
import { useSearchParams } from "wouter";
import { LogService } from "#client/proto/cloakroom/v1/logs_pb.js";
import { useRead } from "../../api/queries.js";
import { Choice, TextField } from "../../components/field.js";
import { Form } from "../../components/form.js";
import { filledParams } from "../../filled-params.js";
import { useDraft } from "../../use-draft.js";
import { FILTER_NAMES, type LogFilters } from "./log-filters.js";

const OUTCOMES = [
  ["", "Every outcome"],
  ["allowed", "Allowed"],
  ["denied", "Denied"],
  ["failed", "Failed"],
] as const;
const TRANSFORMS = [
  ["", "However shown"],
  ["reveal", "Revealed"],
  ["mask", "Masked"],
  ["redact", "Redacted"],
] as const;
const TEXTS = [
  ["actor_id", "Actor id"],
  ["key_id", "Key or session id"],
  ["operation", "Operation"],
  ["trace_id", "Trace id"],
  ["destination_host", "Destination host"],
  ["source_ip", "Address or network"],
] as const;

/** The filters: those that people use most, and the others on demand. One trace needs no other filter. */
export function FilterForm({ filters }: { filters: LogFilters }) {
  const [, setParams] = useSearchParams();
  const [draft, set] = useDraft(filters);
  const isTrace = FILTER_NAMES.every((name) => (filters[name] !== "") === (name === "trace_id"));
  const [hasMore, setMore] = useState(
    !isTrace && (TEXTS.some(([name]) => filters[name] !== "") || filters.transform !== ""),
  );
  const isShort = isTrace && !hasMore;
  const text = ([name, label]: (typeof TEXTS)[number]) => (
    <TextField key={name} label={label} value={draft[name]} onChange={set(name)} />
  );
  return (
    <Form className="filters" aria-label="Filters" onSubmit={() => setParams(filledParams(draft))}>
      {isShort ? TEXTS.filter(([name]) => name === "trace_id").map(text) : <UsualFilters draft={draft} set={set} />}
      {hasMore && (
        <Choice
          label="Shown"
          value={TRANSFORMS.find(([name]) => name === draft.transform)?.[0] ?? ""}
          options={TRANSFORMS}
          onChange={set("transform")}
        />
      )}
      {hasMore && TEXTS.map(text)}
      <div className="actions">
        <button type="submit" className="primary">
          Filter
        </button>
        <button type="button" aria-expanded={hasMore} onClick={() => setMore(!hasMore)}>
          More filters
        </button>
        {FILTER_NAMES.some((name) => filters[name] !== "") && (
          <button type="button" onClick={() => setParams({})}>
            Clear
          </button>
        )}
      </div>
    </Form>
  );
}

interface UsualFiltersProps {
  readonly draft: LogFilters;
  readonly set: (name: keyof LogFilters) => (value: string) => void;
}

function UsualFilters({ draft, set }: UsualFiltersProps) {
  return (
    <>
      <EntityType value={draft.entity_type} onChange={set("entity_type")} />
      <TextField label="Entity id" value={draft.entity_id} onChange={set("entity_id")} />
      <Choice
        label="Outcome"
        value={OUTCOMES.find(([name]) => name === draft.outcome)?.[0] ?? ""}
        options={OUTCOMES}
        onChange={set("outcome")}
      />
      <TextField label="From (your time)" type="datetime-local" value={draft.from} onChange={set("from")} />
      <TextField label="Before (your time)" type="datetime-local" value={draft.to} onChange={set("to")} />
    </>
  );
}

function EntityType({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const types = useRead(LogService.method.listLogEntityTypes, {});
  const known = (types.data?.data ?? []).map((type): [string, string] => [type.value, type.displayName]);
  const isKnown = value === "" || known.some(([name]) => name === value);
  const unknown: [string, string][] = isKnown ? [] : [[value, value]];
  return (
    <Choice
      label="Entity type"
      value={value}
      options={[["", "Every type"], ...known, ...unknown]}
      onChange={onChange}
    />
  );
}
