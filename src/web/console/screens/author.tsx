import { Id, Name } from "../components/text.js";
import type { Names } from "./names.js";

/** What a row names: by name, or by id if it is gone or may not be listed. */
export function Author({ id, names }: { id: string; names: Names }) {
  const name = names.get(id)?.name;
  return name === undefined ? <Id>{id}</Id> : <Name>{name}</Name>;
}
