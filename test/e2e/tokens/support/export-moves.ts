import type { ExportWorld } from "./export-world.js";

/** What one person, or a key alone, may try between a request and its approval, after it, or without either. */
export interface ExportMove {
  readonly name: string;
  run(world: ExportWorld): Promise<void>;
}

const move = (name: string, run: ExportMove["run"]): ExportMove => ({ name, run });

export const EXPORT_MOVES: readonly ExportMove[] = [
  move("ask for one container", (world) => world.ask({ container: "/drop/" })),
  move("ask for everything", (world) => world.ask({})),
  move("approve the last request", (world) => world.approve(0)),
  move("approve an earlier request", (world) => world.approve(1)),
  move("reveal by the rules", (world) => world.changeRules("reveal")),
  move("mask by the rules", (world) => world.changeRules("mask")),
  move("make a key", (world) => world.makeKey()),
  move("replace the key", (world) => world.replaceKey()),
  move("make a token", (world) => world.makeToken("/drop/")),
  move("make a token elsewhere", (world) => world.makeToken("/vault/")),
  move("move a token into the container", (world) => world.moveToken("/drop/")),
  move("move a token out of the container", (world) => world.moveToken("/vault/")),
  move("invite another ADMIN", (world) => world.invite()),
  move("remove a member", (world) => world.removeMember()),
  move("take a role away and give it back", (world) => world.demoteAndPromote()),
  move("end a request or an approval", (world) => world.deleteExport()),
  move("switch the setting off", (world) => world.switchOff()),
  move("wait for half an hour", async (world) => world.pass(0.5)),
  move("wait for two hours", async (world) => world.pass(2)),
];
