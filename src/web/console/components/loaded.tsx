import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Read } from "../api/queries.js";
import { useSession } from "../session.js";
import { ProblemNote } from "./problem-note.js";

interface LoadedProps<T> {
  readonly read: Read<T>;
  readonly children: (data: T) => ReactNode;
  /** Lines of the placeholder, about the height of the content. Default: 4. */
  readonly lines?: number;
}

/** Shows what a read returned, or why there is nothing to show. Old data stays while a newer read fails. */
export function Loaded<T>({ read, children, lines = 4 }: LoadedProps<T>) {
  if (!read.isAllowed) return <NoRight operation={read.operation} />;
  const problem = read.problem && (
    <ProblemNote key={read.problem.message} problem={read.problem} retry={read.refetch} />
  );
  if (read.data !== undefined) {
    return (
      <>
        {problem}
        {children(read.data)}
      </>
    );
  }
  return problem ?? <Skeleton lines={lines} />;
}

/** A placeholder that appears only if loading takes a while. */
export function Skeleton({ lines }: { lines: number }) {
  return (
    <div className="skeleton" role="status">
      <span className="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, line) => `line ${line}`).map((key) => (
        <div key={key} />
      ))}
    </div>
  );
}

function NoRight({ operation }: { operation: string }) {
  const { role } = useSession().who;
  return (
    <div className="note">
      <p>
        Your role {role} may not call <code>{operation}</code>. An OWNER or ADMIN of this tenant can see more, or change
        your role.
      </p>
      <Link href="/" className="button">
        Go to the home page
      </Link>
    </div>
  );
}

/** What needs an operation, or the reason why the role does not see it. */
export function Permitted({ operation, children }: { operation: string; children: ReactNode }) {
  return useSession().can(operation) ? children : <NoRight operation={operation} />;
}

/** A list without entries: what to do next. */
export function Empty({ children }: { children: ReactNode }) {
  return <div className="empty">{children}</div>;
}
