import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Caller } from "../access/caller.js";
import { isUuid, type Uuid } from "../base/ids.js";
import { DEFAULT_PAGE_SIZE, type Page, type PageRequest } from "../base/page.js";

/** The times and actors that all resources show alike. Omits unknown values. */
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

/** The requested page. Default: the first, with {@link DEFAULT_PAGE_SIZE}. */
export function pageRequest({
  page,
  size,
}: {
  readonly page?: number | undefined;
  readonly size?: number | undefined;
}): PageRequest {
  return { page: page ?? 1, size: size ?? DEFAULT_PAGE_SIZE };
}

/** A numbered page, as in the published API. */
export function showPage({ total }: Page<unknown>, { page, size }: PageRequest) {
  return { totalItems: total, pageNumber: page, pageSize: size, totalPages: Math.ceil(total / size) };
}

export function showItems<T, Shown>(page: PageRequest, showItem: (item: T, caller: Caller) => Shown) {
  return (found: Page<T>, caller: Caller) => ({
    pagination: showPage(found, page),
    data: found.items.map((item) => showItem(item, caller)),
  });
}

/** An id that the protos have checked to be a UUID, in its stored case. */
export function storedUuid(checked: string): Uuid {
  const lower = checked.toLowerCase();
  if (!isUuid(lower)) throw new Error("a message with a malformed UUID passed validation");
  return lower;
}
