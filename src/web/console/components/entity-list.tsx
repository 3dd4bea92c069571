import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { OffsetPage } from "#client/proto/cloakroom/v1/pagination_pb.js";
import type { Read } from "../api/queries.js";
import { useSession } from "../session.js";
import { EntityLink } from "./entity-link.js";
import { Listing } from "./listing.js";
import { Empty } from "./loaded.js";
import { Screen } from "./screen.js";
import type { Column } from "./table.js";
import { Time } from "./time.js";

interface Listed {
  readonly id: string;
  readonly createdAt?: Timestamp | undefined;
  readonly modifiedAt?: Timestamp | undefined;
}

interface EntityListProps<T extends Listed> {
  readonly title: string;
  /** Of the list. An entity's page has its id in the query. */
  readonly path: string;
  readonly list: Read<{ readonly data: readonly T[] }>;
  /** Absent: the list has one page. */
  readonly page?: OffsetPage | undefined;
  /** The button that begins a new one, for roles that may create one. */
  readonly add: { readonly operation: string; readonly text: string };
  /** What to read where there are none. */
  readonly purpose: string;
  /** Beside the purpose. */
  readonly guide?: ReactNode;
  readonly filter?: ReactNode;
  /** Shown in place of the purpose where a filter leaves none. */
  readonly noMatch?: string | undefined;
  readonly nameOf: (item: T) => string;
  /** After the name. */
  readonly columns: readonly Column<T>[];
}

/** A screen with the entities of a kind, by name, and a way to a new one. */
export function EntityList<T extends Listed>(props: EntityListProps<T>) {
  const { title, path, list, page, add, purpose, guide, filter, noMatch, nameOf, columns } = props;
  const addLink = useSession().can(add.operation) && (
    <Link href={`${path}?new=1`} className="button primary">
      {add.text}
    </Link>
  );
  const none = noMatch ? (
    <p>{noMatch}</p>
  ) : (
    <Empty>
      <p>{purpose}</p>
      {addLink}
      {guide}
    </Empty>
  );
  const name = { head: "Name", cell: (item: T) => <EntityLink path={path} id={item.id} name={nameOf(item)} /> };
  return (
    <Screen title={title} actions={addLink}>
      {filter}
      <Listing read={list} lines={8} none={none} page={page} label={title} columns={[name, ...columns]} />
    </Screen>
  );
}

export const CREATED: Column<Listed> = { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> };
export const CHANGED: Column<Listed> = { head: "Changed", cell: ({ modifiedAt }) => <Time at={modifiedAt} /> };
