import type { Change } from "../../api/queries.js";
import { entityAddress } from "../../components/entity-link.js";
import { useSession } from "../../session.js";
import { useConflictCheck, type Versioned } from "../../use-conflict-check.js";
import { useLeaveTo } from "../../use-leave-to.js";
import { useUnsaved } from "../../use-unsaved.js";
import type { Saving } from "./code-form.js";

interface Stored extends Versioned {
  readonly id: string;
  readonly createdBy?: string | undefined;
}

interface SavingOptions<T extends Stored> {
  /** Undefined for a new one. */
  readonly stored: T | undefined;
  readonly draft: object;
  /** The page that shows a stored one by its id. */
  readonly page: string;
  readonly change: Pick<Change<never, never>, "isAllowed" | "isPending" | "problem">;
  read(id: string): Promise<T>;
  create(onDone: (created: { readonly id: string }) => void): void;
  update(stored: T, onDone: () => void): void;
}

export function useSaving<T extends Stored>({ stored, draft, page, change, ...calls }: SavingOptions<T>): Saving {
  const leaveTo = useLeaveTo();
  const { mayChange } = useSession();
  const onSaved = useUnsaved(draft);
  const check = useConflictCheck(stored, () => calls.read(stored?.id ?? ""));
  const save = () => {
    if (!stored) return calls.create(({ id }) => leaveTo(entityAddress(page, id)));
    calls.update(stored, () => {
      check.noteSaved();
      onSaved();
    });
  };
  const canSave = change.isAllowed && (!stored || mayChange(stored.createdBy));
  return { save, check, canSave, isPending: change.isPending, problem: change.problem };
}
