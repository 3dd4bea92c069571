import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { isUuid, type Uuid } from "../base/ids.js";
import { DEFAULT_PAGE_SIZE, type Page, type PageRequest } from "../base/page.js";

/** The times and actors that every resource shows alike. What is not known is left out. */
export function showAudit(entity: {
  readonly createdBy: string | null;
  readonly createdAt: Date;
  readonly modifiedBy?: string | null;
  readonly modifiedAt?: Date | null;
}) {
  return {
    createdAt: timestampFromDate(entity.createdAt),
    ...(entity.createdBy === null ? {} : { createdBy: entity.createdBy }),
    ...(entity.modifiedBy ? { modifiedBy: entity.modifiedBy } : {}),
    ...(entity.modifiedAt ? { modifiedAt: timestampFromDate(entity.modifiedAt) } : {}),
  };
}

/** Which page is asked for: the first, and {@link DEFAULT_PAGE_SIZE}, unless the caller says otherwise. */
export function pageRequest({
  page,
  size,
}: {
  readonly page?: number | undefined;
  readonly size?: number | undefined;
}): PageRequest {
  return { page: page ?? 1, size: size ?? DEFAULT_PAGE_SIZE };
}

/** The page by number of the published interface. */
export function showPage({ total }: Page<unknown>, { page, size }: PageRequest) {
  return { totalItems: total, pageNumber: page, pageSize: size, totalPages: Math.ceil(total / size) };
}

/** An id that the protos have checked to be a UUID, in the case in which it is stored. */
export function uuidOf(checked: string): Uuid {
  const lower = checked.toLowerCase();
  if (!isUuid(lower)) throw new Error("a message with a malformed UUID passed validation");
  return lower;
}
