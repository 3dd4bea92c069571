import type { Transport } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { InOtherTab } from "../in-other-tab.js";
import { useSessionIfAny } from "../session.js";
import { addPasskey, provePasskey } from "./ceremonies.js";
import { useCeremony } from "./use-ceremony.js";

/** Lets a person prove the second factor, where an operation was refused without it. */
export function SecondFactor() {
  const queries = useQueryClient();
  const [outcome, setOutcome] = useState<"proved" | "waits">();
  const session = useSessionIfAny();
  const hasPasskey = session?.who.hasPasskey ?? false;
  // Here and not on a page of its own, which would lose what was typed. A new passkey counts as a proof, unless it waits.
  const steps = hasPasskey ? provePasskey : (transport: Transport) => addPasskey(transport, "First passkey");
  const proof = useCeremony<{ readonly waits: boolean }>(steps, ({ waits }) => {
    setOutcome(waits ? "waits" : "proved");
    void queries.invalidateQueries();
  });
  if (!session) return null;
  if (outcome === "proved") return <p role="status">Proved for five minutes. Try again now.</p>;
  if (outcome === "waits") {
    return <p role="status">The passkey is added. It counts in a day, or once the OWNER confirms it under Members.</p>;
  }
  return (
    <>
      {!hasPasskey && <p>You have no passkey yet. A passkey is kept on this device, or on a security key.</p>}
      {proof.problem && <p>{proof.problem.message}</p>}
      <button type="button" className="primary" disabled={proof.isPending} onClick={proof.run}>
        {hasPasskey ? "Use your passkey" : "Add a passkey"}
      </button>
      {!hasPasskey && <AgainAtIssuer tenantId={session.who.tenantId} />}
    </>
  );
}

function AgainAtIssuer({ tenantId }: { tenantId: string }) {
  const { data } = useQuery(SignInService.method.getSignInMethods, {});
  if (!data?.openidSecondFactor) return null;
  return <InOtherTab issuer={data.openidIssuer ?? ""} query={{ fresh: "1", tenant: tenantId }} />;
}
