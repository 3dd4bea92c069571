import { Link } from "wouter";
import { type Application, ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useRead } from "../../api/queries.js";
import { Exposure } from "../../components/exposure.js";
import { Empty, Loaded } from "../../components/loaded.js";
import { OffsetPages, usePageNumber } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";

/** The programs that call the vault. */
export function ApplicationList() {
  const { can } = useSession();
  const applications = useRead(ApplicationService.method.listApplications, { page: usePageNumber(), size: 50 });
  const add = can("ApplicationService/CreateApplication") && (
    <Link href="/applications?new=1" className="button primary">
      New application
    </Link>
  );
  return (
    <Screen title="Applications" actions={add}>
      <Loaded read={applications} lines={8}>
        {({ data, pagination }) => (
          <>
            {data.length === 0 ? (
              <Empty>
                <p>There are no applications. Each program that calls the vault needs one, with a key of its own.</p>
                {add}
              </Empty>
            ) : (
              <ApplicationTable applications={data} />
            )}
            <OffsetPages page={pagination} />
          </>
        )}
      </Loaded>
    </Screen>
  );
}

function ApplicationTable({ applications }: { applications: readonly Application[] }) {
  return (
    <Table
      label="Applications"
      rows={applications}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Name",
          cell: ({ id, name }) => (
            <Link href={`/applications?${new URLSearchParams({ id })}`}>
              <Name>{name}</Name>
            </Link>
          ),
        },
        { head: "Type", cell: ({ type }) => type },
        { head: "May see", cell: (application) => <VisibleData {...application} /> },
        { head: "Keys", isNumber: true, cell: ({ keys }) => keys.length },
        { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
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
