import type { ConflictCheck } from "../use-conflict-check.js";

/** Two people edit the same: nothing is saved until one of them decides. */
export function ConflictNote({ check, save }: { check: ConflictCheck; save: () => void }) {
  if (!check.hasConflict) return null;
  return (
    <div className="note problem" role="alert">
      <p>Somebody else has saved a newer version since you opened this one. Yours is not saved.</p>
      <p>Open this page in another tab to compare, or save yours over it.</p>
      <button type="button" className="danger" onClick={() => check.override(save)}>
        Save over the newer version
      </button>
    </div>
  );
}
