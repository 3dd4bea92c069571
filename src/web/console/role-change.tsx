import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useSession } from "./session.js";

/**
 * Says that somebody has changed the person's role while the console was open, and forgets what the former one read. The
 * change ended the sign-in, so a new one has come between.
 */
export function RoleChange() {
  const { role, operations } = useSession().who;
  const queries = useQueryClient();
  const allowed = operations.join();
  const known = useRef(allowed);
  const [isChanged, setChanged] = useState(false);
  useEffect(() => {
    if (allowed === known.current) return;
    known.current = allowed;
    queries.removeQueries({ type: "inactive" });
    void queries.invalidateQueries();
    setChanged(true);
  }, [allowed, queries]);
  if (!isChanged) return null;
  const close = () => setChanged(false);
  return (
    <div className="note" role="alert">
      <p>Your role in this tenant is now {role}. What it does not allow is not shown any more.</p>
      <div className="actions">
        <Link href="/" className="button" onClick={close}>
          Go to the home page
        </Link>
        <button type="button" onClick={close}>
          Stay here
        </button>
      </div>
    </div>
  );
}
