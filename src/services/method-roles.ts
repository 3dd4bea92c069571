import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { isRole, type Role } from "../access/role.js";
import { methodPolicy } from "./method-policy.js";

export interface MethodRoles {
  /** Empty: only keys may. */
  readonly roles: readonly Role[];
  /** People also need a second factor. */
  readonly needsSecondFactor: boolean;
}

/** The roles that may call a method, from its policy in the proto. @throws {Error} for a method without one. */
export function readMethodRoles(desc: DescMethod): MethodRoles {
  const { roles, secondFactor } = methodPolicy(desc);
  const names = roles.split(" ").filter((name) => name !== "");
  if (names.length === 0) throw new Error(`${operationName(desc)} says in its policy which roles may call it, or none`);
  if (roles === "none") return { roles: [], needsSecondFactor: false };
  return { roles: names.map(asRole), needsSecondFactor: secondFactor };
}

/** The operations that members of a role may call, as Service/Method, also those that need a second factor. */
export function allowedOperations(role: string, services: readonly DescService[]): readonly string[] {
  const methods = services.flatMap((service) => service.methods);
  const allowed = methods.filter((method) => readMethodRoles(method).roles.some((name) => name === role));
  return allowed.map(operationName);
}

/** A method as Service/Method, without the package. */
export function operationName({ parent, name }: DescMethod): string {
  return `${parent.name}/${name}`;
}

function asRole(text: string): Role {
  if (!isRole(text)) throw new Error(`the protos name an unknown role: ${text}`);
  return text;
}
