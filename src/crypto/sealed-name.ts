import { open, type SealedPlace, seal } from "./sealed.js";
import { requiresSeals, type TenantKeys } from "./tenant-keys.js";

/** The name of something: sealed, or in the clear where the tenant's keys were made before names were sealed. */
export interface NameColumns {
  readonly name: string;
  readonly label: Buffer | null;
}

/** The row that a name is part of. */
export type NamePlace = Pick<SealedPlace, "tenantId" | "entity">;

export function nameColumns(keys: TenantKeys, place: NamePlace, name: string): NameColumns {
  // The release before reads the plain column. It cannot open what keys of today seal in any case.
  if (!requiresSeals(keys)) return { name, label: null };
  return { name: "", label: seal(keys.data, { ...place, field: "name" }, Buffer.from(name)) };
}

export function openName(keys: TenantKeys, place: NamePlace, { name, label }: NameColumns): string {
  return label ? open(keys.data, { ...place, field: "name" }, label).toString() : name;
}
