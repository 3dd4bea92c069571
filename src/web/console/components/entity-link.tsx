import { Link } from "wouter";
import { Name } from "./text.js";

/** The address of an entity's page, below the path of its list. */
export function entityAddress(path: string, id: string): string {
  return `${path}?${new URLSearchParams({ id })}`;
}

export function EntityLink({ path, id, name }: { path: string; id: string; name: string }) {
  return (
    <Link href={entityAddress(path, id)}>
      <Name>{name}</Name>
    </Link>
  );
}
