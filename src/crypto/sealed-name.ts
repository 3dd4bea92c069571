import { open, type SealContext, seal } from "./sealed.js";
import { requiresSeals, type TenantKeys } from "./tenant-keys.js";

/** An entity's name: sealed, or in clear text if the tenant's keys are older than sealed names. */
export interface NameColumns {
  readonly name: string;
  readonly label: Buffer | null;
}

/** The row of the name. */
export type NamePlace = Pick<SealContext, "tenantId" | "entity">;

export function nameColumns(keys: TenantKeys, place: NamePlace, name: string): NameColumns {
  // The previous release reads the plain column. It cannot open what current keys seal in any case.
  if (!requiresSeals(keys)) return { name, label: null };
  return { name: "", label: seal(keys.data, { ...place, field: "name" }, Buffer.from(name)) };
}

export function openName(keys: TenantKeys, place: NamePlace, { name, label }: NameColumns): string {
  return label ? open(keys.data, { ...place, field: "name" }, label).toString() : name;
}
