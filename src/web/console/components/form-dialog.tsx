import type { ReactNode } from "react";
import type { CallProblem } from "../api/call-problem.js";
import { Form } from "./form.js";
import { Overlay } from "./overlay.js";
import { ProblemNote } from "./problem-note.js";

interface FormDialogProps {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  /** The change that the form makes. */
  readonly change: {
    readonly isPending: boolean;
    readonly problem: CallProblem | undefined;
    cancel(): void;
  };
  /** Whether a field of the form says itself what is wrong with it. */
  readonly isShown?: (field: string) => boolean;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A form over the page. Cancel also gives up a change that is on its way. */
export function FormDialog(props: FormDialogProps) {
  const { title, action, isDangerous = false, change, isShown, onSubmit, onClose, children } = props;
  const close = () => {
    change.cancel();
    onClose();
  };
  return (
    <Overlay title={title} onClose={close}>
      <Form className="form" onSubmit={onSubmit}>
        {children}
        {change.problem && <ProblemNote problem={change.problem} {...(isShown ? { isShown } : {})} />}
        <div className="actions">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" className={isDangerous ? "danger" : "primary"} disabled={change.isPending}>
            {action}
          </button>
        </div>
      </Form>
    </Overlay>
  );
}
