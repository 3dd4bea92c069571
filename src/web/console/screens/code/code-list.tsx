import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { OffsetPage } from "#client/proto/cloakroom/v1/pagination_pb.js";
import type { Read } from "../../api/queries.js";
import { Empty, Loaded } from "../../components/loaded.js";
import { OffsetPages } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly createdAt?: Timestamp | undefined;
  readonly modifiedAt?: Timestamp | undefined;
}

interface CodeListProps<T extends Listed> {
  readonly title: string;
  readonly path: "/proxies" | "/reactors" | "/formulas";
  readonly list: Read<{ readonly data: readonly T[]; readonly pagination?: OffsetPage | undefined }>;
  readonly canAdd: boolean;
  readonly addText: string;
  /** What they are for, where there are none. */
  readonly purpose: string;
  readonly head: string;
  readonly cell: (item: T) => ReactNode;
}

export function CodeList<T extends Listed>(props: CodeListProps<T>) {
  const { title, path, list, canAdd, addText, purpose, head, cell } = props;
  const add = canAdd && (
    <Link href={`${path}?new=1`} className="button primary">
      {addText}
    </Link>
  );
  return (
    <Screen title={title} actions={add}>
      <Loaded read={list} lines={8}>
        {({ data, pagination }) => (
          <>
            {data.length === 0 ? (
              <Empty>
                <p>{purpose}</p>
                {add}
              </Empty>
            ) : (
              <Table
                label={title}
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  { head: "Name", cell: ({ id, name }) => <ItemLink path={path} id={id} name={name} /> },
                  { head, cell },
                  { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
                  { head: "Changed", cell: ({ modifiedAt }) => <Time at={modifiedAt} /> },
                ]}
              />
            )}
            <OffsetPages page={pagination} />
          </>
        )}
      </Loaded>
    </Screen>
  );
}

function ItemLink({ path, id, name }: { path: string; id: string; name: string }) {
  return (
    <Link href={`${path}?${new URLSearchParams({ id })}`}>
      <Name>{name}</Name>
    </Link>
  );
}
