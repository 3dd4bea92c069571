import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { useSessionIfAny } from "../session.js";
import { provePasskey } from "./ceremonies.js";
import { useCeremony } from "./use-ceremony.js";

/** Lets a person prove the second factor, where an operation was refused without it. */
export function SecondFactor() {
  const queries = useQueryClient();
  const [isProved, setProved] = useState(false);
  const proof = useCeremony(provePasskey, () => {
    setProved(true);
    void queries.invalidateQueries();
  });
  const session = useSessionIfAny();
  if (!session) return null;
  if (isProved) return <p role="status">Proved for five minutes. Try again now.</p>;
  if (!session.who.hasPasskey) {
    return (
      <p>
        You have no passkey yet. <Link href="/sign-ins">Add one under Your sign-ins</Link>, then try again.
      </p>
    );
  }
  return (
    <>
      {proof.problem && <p>{proof.problem.message}</p>}
      <button type="button" className="primary" disabled={proof.isPending} onClick={proof.run}>
        Use your passkey
      </button>
    </>
  );
}
