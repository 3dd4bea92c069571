import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useEffect, useState } from "react";
import { TenantService } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { useRead } from "./api/queries.js";
import { Overlay } from "./components/overlay.js";
import { useSession } from "./session.js";
import type { SignInState } from "./sign-in-state.js";

/** WCAG 2.2.1 asks for a warning; two minutes are enough to find the button. */
const WARNING_MS = 120_000;
/** The server notes the last call to the minute, so a sign-in can end this much earlier. */
const PRECISION_MS = 60_000;
const CHECK_MS = 5_000;

/** Warns before a sign-in ends because nothing was done. */
export function IdleWarning({ state }: { state: SignInState }) {
  const { signIn } = useSession().who;
  const [isNear, setNear] = useState(false);
  const tenant = useRead(TenantService.method.getTenant, {});
  const { idleEndAt, lastSeenAt } = signIn ?? {};
  const idleMs = idleEndAt && lastSeenAt ? timestampMs(idleEndAt) - timestampMs(lastSeenAt) : undefined;
  useEffect(() => {
    if (idleMs === undefined) return undefined;
    const timer = setInterval(() => {
      const end = state.lastCall + idleMs - PRECISION_MS;
      if (Date.now() > end) state.onSignedOut();
      setNear(!state.isOver && Date.now() > end - WARNING_MS);
    }, CHECK_MS);
    return () => clearInterval(timer);
  }, [idleMs, state]);
  if (!isNear) return null;
  const stay = () => {
    tenant.refetch();
    setNear(false);
  };
  return (
    <Overlay title="Are you still there?" onClose={stay}>
      <p>You will be signed out in two minutes because you made no call.</p>
      <button type="button" className="primary" onClick={stay}>
        Stay signed in
      </button>
    </Overlay>
  );
}
