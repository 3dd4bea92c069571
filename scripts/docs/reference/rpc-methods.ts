import { readdirSync } from "node:fs";
import type { DescMethod, DescService } from "@bufbuild/protobuf";

const GENERATED = new URL("../../../gen/cloakroom/v1/", import.meta.url);

/** The methods of all services, by the id of their operation in gen/openapi.json. */
export async function rpcMethods(): Promise<ReadonlyMap<string, DescMethod>> {
  const files = readdirSync(GENERATED).filter((file) => file.endsWith("_pb.ts"));
  const modules = await Promise.all(files.map((file) => import(new URL(file, GENERATED).href)));
  const services = modules.flatMap((module) => Object.values(module).filter(isService));
  return new Map(services.flatMap(({ methods }) => methods.map((method) => [method.localName, method] as const)));
}

function isService(exported: unknown): exported is DescService {
  return typeof exported === "object" && exported !== null && "kind" in exported && exported.kind === "service";
}
