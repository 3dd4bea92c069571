import { invalid } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { type ContainerPath, parseContainer, storedContainer } from "./container.js";
import type { GivenRole } from "./given-role.js";
import type { Role } from "./role.js";

/** Each request of the member's sign-ins carries them. */
const MAX_CONTAINERS = 20;

/**
 * A role with the containers that are assigned with it.
 * @throws {Fault} validation_failed for another role than DEVELOPER, for `/`, and for what is no container.
 */
export function withContainers(role: Role, texts: readonly string[]): GivenRole {
  if (texts.length > 0 && role !== "DEVELOPER") {
    throw invalid("containers", "must not be given: containers are assigned to a DEVELOPER only");
  }
  if (texts.length > MAX_CONTAINERS) throw invalid("containers", `must be at most ${MAX_CONTAINERS} containers`);
  const containers = texts.map((text, index) => {
    const container = parseContainer(text, `containers[${index}]`);
    if (container === "/") throw invalid(`containers[${index}]`, "must be below the root, such as /test/");
    return container;
  });
  return { role, containers: [...new Set(containers)] };
}

/** The containers of a sealed list. Absent: none. */
export function storedContainers(stored: Json | undefined): readonly ContainerPath[] {
  return Array.isArray(stored) ? stored.map((path) => storedContainer(String(path))) : [];
}
