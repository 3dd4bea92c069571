import type { ReactNode } from "react";
import type { CallProblem } from "../api/call-problem.js";
import type { ConflictCheck } from "../use-conflict-check.js";
import { ConflictNote } from "./conflict-note.js";
import { Form } from "./form.js";
import { ProblemNote } from "./problem-note.js";

/** What the form of a draft needs, whether it creates an entity or changes one. */
export interface DraftFormProps<Draft> {
  readonly initial: Draft;
  readonly change: { readonly isPending: boolean; readonly problem: CallProblem | undefined };
  readonly onSubmit: (draft: Draft) => void;
  /** Absent for a new entity. */
  readonly check?: ConflictCheck;
  /** Offered where the form is shown in place of what it changes. */
  readonly onCancel?: () => void;
}

interface EntityFormProps {
  readonly problem: CallProblem | undefined;
  /** Whether a field says itself what is wrong with it. */
  readonly isShown: (field: string) => boolean;
  /** Absent for a new entity. */
  readonly check?: ConflictCheck | undefined;
  readonly save: () => void;
  readonly children: ReactNode;
}

/** A form that creates or changes an entity. It saves nothing over a newer version unless its person says so. */
export function EntityForm({ problem, isShown, check, save, children }: EntityFormProps) {
  const submit = () => {
    if (check) check.guard(save);
    else save();
  };
  return (
    <Form className="form wide" autoComplete="off" onSubmit={submit}>
      {problem && <ProblemNote key={problem.message} problem={problem} isShown={isShown} />}
      {check && <ConflictNote check={check} save={save} />}
      {children}
    </Form>
  );
}
