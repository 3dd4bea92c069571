import { type ReactNode, useState } from "react";
import type { CallProblem } from "../api/call-problem.js";
import { Overlay } from "./overlay.js";
import { ProblemNote } from "./problem-note.js";

interface ConfirmProps {
  readonly action: string;
  readonly title: string;
  readonly children: ReactNode;
  /** Whether something is lost. Default: true. */
  readonly isDangerous?: boolean;
  readonly problem: CallProblem | undefined;
  readonly isPending: boolean;
  /** Calls `done` once the change is made. */
  readonly onConfirm: (done: () => void) => void;
  /** Gives the change up, also on its way. */
  readonly cancel: () => void;
}

/** A button for a change that cannot be undone. It asks first. */
export function Confirm(props: ConfirmProps) {
  const { action, title, children, isDangerous = true, problem, isPending, onConfirm, cancel } = props;
  const [isOpen, setOpen] = useState(false);
  const close = () => {
    cancel();
    setOpen(false);
  };
  return (
    <>
      <button type="button" className={isDangerous ? "danger" : undefined} onClick={() => setOpen(true)}>
        {action}
      </button>
      {isOpen && (
        <Overlay title={title} onClose={close}>
          {children}
          {problem && <ProblemNote problem={problem} />}
          <div className="actions">
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button
              type="button"
              className={isDangerous ? "danger" : "primary"}
              disabled={isPending}
              onClick={() => onConfirm(() => setOpen(false))}
            >
              {action}
            </button>
          </div>
        </Overlay>
      )}
    </>
  );
}
