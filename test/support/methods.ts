import { readdirSync } from "node:fs";
import type { DescMethod, DescService } from "@bufbuild/protobuf";

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
