import { leaveGuard } from "../leave-guard.js";

interface FormActionsProps {
  /** Of the button that sends the form. */
  readonly submitText: string;
  readonly isDisabled: boolean;
  /** Absent: the form has no Cancel. */
  readonly onCancel?: (() => void) | undefined;
}

/** The buttons that end a form. Cancel asks first if there are changes. */
export function FormActions({ submitText, isDisabled, onCancel }: FormActionsProps) {
  return (
    <div className="actions">
      <button type="submit" className="primary" disabled={isDisabled}>
        {submitText}
      </button>
      {onCancel && (
        <button type="button" onClick={() => leaveGuard.leave(onCancel)}>
          Cancel
        </button>
      )}
    </div>
  );
}
