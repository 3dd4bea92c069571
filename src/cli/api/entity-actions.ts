import type { CallOptions, Cloakroom } from "@cloakroom/client";
import type { Action } from "./api-command.js";

/** The parts of the client that have these operations. */
type PartWith<Operations> = {
  [Part in keyof Cloakroom]: Cloakroom[Part] extends Operations ? Part : never;
}[keyof Cloakroom];

export type Gettable = PartWith<{ get(id: string, options: CallOptions): Promise<object> }>;
export type Deletable = PartWith<{ delete(id: string, options: CallOptions): Promise<void> }>;

export function getting(part: Gettable): Action {
  return async (call) => {
    call.output.one(await call.client[part].get(call.argument(0), call.options()));
  };
}

/** Deletes the entity whose id is the argument, once a person has read the warning, in which `ID` is its id. */
export function deleting(part: Deletable, warning: string): Action {
  return async (call) => {
    const id = call.argument(0);
    await call.confirm(warning.replace("ID", () => id));
    await call.client[part].delete(id, call.options());
    call.output.one({ id, deleted: true });
  };
}
