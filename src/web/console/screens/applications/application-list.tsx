import { useSearchParams } from "wouter";
import { type Application, ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useRead } from "../../api/queries.js";
import { CREATED, EntityList } from "../../components/entity-list.js";
import { Exposure } from "../../components/exposure.js";
import { Choice, TextField } from "../../components/field.js";
import { Form } from "../../components/form.js";
import { usePageNumber } from "../../components/pages.js";
import { filledParams } from "../../filled-params.js";
import { useDraft } from "../../use-draft.js";

export function ApplicationList() {
  const [params] = useSearchParams();
  const filter = readFilter(params);
  const applications = useRead(ApplicationService.method.listApplications, {
    page: usePageNumber(),
    size: 50,
    ...(filter.name === "" ? {} : { name: filter.name }),
    ...(filter.type === "" ? {} : { type: [filter.type] }),
    ...(filter.sort === "" ? {} : { sort: filter.sort }),
  });
  const isFiltered = filter.name !== "" || filter.type !== "";
  return (
    <EntityList
      title="Applications"
      path="/applications"
      list={applications}
      page={applications.data?.pagination}
      add={{ operation: "ApplicationService/CreateApplication", text: "New application" }}
      purpose="There are no applications. Each program that calls the vault needs one, with a key of its own."
      filter={<ListFilter key={params.toString()} filter={filter} />}
      noMatch={isFiltered ? "No application matches." : undefined}
      nameOf={({ name }) => name}
      columns={[
        { head: "Type", cell: ({ type }) => type },
        { head: "May see", cell: (application) => <VisibleData {...application} /> },
        { head: "Keys", isNumber: true, cell: ({ keys }) => keys.length },
        CREATED,
      ]}
    />
  );
}

type ListFilterValues = Readonly<Record<"name" | "type" | "sort", string>>;

const TYPES = [
  ["", "Every type"],
  ["private", "private"],
  ["public", "public"],
  ["management", "management"],
] as const;
const SORTS = [
  ["", "Newest first"],
  ["name", "By name"],
] as const;

/** An address can contain anything: unknown words do not filter. */
function readFilter(params: URLSearchParams): ListFilterValues {
  const known = (options: typeof TYPES | typeof SORTS, name: string) =>
    options.find(([option]) => option === params.get(name))?.[0] ?? "";
  return { name: params.get("name") ?? "", type: known(TYPES, "type"), sort: known(SORTS, "sort") };
}

function ListFilter({ filter }: { filter: ListFilterValues }) {
  const [, setParams] = useSearchParams();
  const [draft, set] = useDraft(filter);
  const show = (next: ListFilterValues) => setParams(filledParams(next));
  return (
    <Form className="filters" aria-label="Filters" onSubmit={() => show(draft)}>
      <TextField label="Name" value={draft.name} onChange={set("name")} placeholder="part of a name" />
      <Choice
        label="Type"
        value={TYPES.find(([type]) => type === draft.type)?.[0] ?? ""}
        options={TYPES}
        onChange={(type) => show({ ...draft, type })}
      />
      <Choice
        label="Order"
        value={SORTS.find(([sort]) => sort === draft.sort)?.[0] ?? ""}
        options={SORTS}
        onChange={(sort) => show({ ...draft, sort })}
      />
      <button type="submit">Search</button>
    </Form>
  );
}

/** The most open way in which an application sees tokens. */
function VisibleData({ rules, permissions }: Pick<Application, "rules" | "permissions">) {
  const reveals = rules.some(({ transform }) => transform === "reveal") || permissions.includes("token:use");
  if (reveals) return <Exposure transform="reveal">values in the clear</Exposure>;
  const masks =
    rules.some(({ transform }) => transform === "mask") || permissions.some((name) => name.startsWith("token:"));
  return <Exposure transform={masks ? "mask" : "redact"}>{masks ? "masked values" : "no values"}</Exposure>;
}
