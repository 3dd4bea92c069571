import { readdirSync } from "node:fs";
import type { DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";

/** Every service of the protos. */
async function services(): Promise<DescService[]> {
  const names = readdirSync("gen/cloakroom/v1").map((file) => file.replace(".ts", ""));
  const modules = await Promise.all(names.map((name) => import(`../../gen/cloakroom/v1/${name}.ts`)));
  return modules.flatMap((module) => Object.values(module)).filter(isService);
}

function isService(value: unknown): value is DescService {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "service";
}

/** Every method of the protos, whether or not it has a handler. */
export const methods: readonly DescMethod[] = (await services()).flatMap((service) => service.methods);

/** Messages with those within them. */
export function reachable(messages: readonly DescMessage[], found = new Set<DescMessage>()): ReadonlySet<DescMessage> {
  for (const message of messages) {
    if (found.has(message)) continue;
    found.add(message);
    reachable(
      message.fields.flatMap((field) => (field.message ? [field.message] : [])),
      found,
    );
  }
  return found;
}
