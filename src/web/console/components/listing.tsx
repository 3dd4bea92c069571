import type { ReactNode } from "react";
import type { OffsetPage } from "#client/proto/cloakroom/v1/pagination_pb.js";
import type { Read } from "../api/queries.js";
import { Empty, Loaded } from "./loaded.js";
import { OffsetPages } from "./pages.js";
import { Table, type TableProps } from "./table.js";

interface Listed {
  readonly id: string;
}

interface ListingProps<T extends Listed> extends Pick<TableProps<T>, "label" | "columns"> {
  readonly read: Read<{ readonly data: readonly T[] }>;
  /** Lines of the placeholder. Default: 4. */
  readonly lines?: number;
  /** Shown where there are none. */
  readonly none: ReactNode;
  /** Absent: the list has one page. */
  readonly page?: OffsetPage | undefined;
}

/** The table of what a list returned, with the way to its other pages. */
export function Listing<T extends Listed>({ read, lines = 4, none, page, label, columns }: ListingProps<T>) {
  return (
    <Loaded read={read} lines={lines}>
      {({ data }) => (
        <>
          {data.length > 0 && <Table label={label} rows={data} columns={columns} keyOf={({ id }) => id} />}
          {data.length === 0 &&
            (typeof none === "string" ? (
              <Empty>
                <p>{none}</p>
              </Empty>
            ) : (
              none
            ))}
          <OffsetPages page={page} />
        </>
      )}
    </Loaded>
  );
}
