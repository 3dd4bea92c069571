import { Code, ConnectError } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { useLocation } from "wouter";
import { SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { toCallProblem } from "./api/call-problem.js";
import { Skeleton } from "./components/loaded.js";
import { Overlay } from "./components/overlay.js";
import { ProblemNote } from "./components/problem-note.js";
import { IdleWarning } from "./idle-warning.js";
import { LeaveQuestion } from "./leave-question.js";
import { takeLeftForIssuer } from "./left-for-issuer.js";
import { SessionProvider } from "./session.js";
import { Shell } from "./shell.js";
import { SignIn } from "./sign-in/sign-in.js";
import type { SignInState } from "./sign-in-state.js";

/** Asks who is signed in: shows the console, or the sign-in. A sign-in that ends is renewed over the page. */
export function SignInGate({ state }: { state: SignInState }) {
  const [path] = useLocation();
  const isOver = useSyncExternalStore(state.subscribe, () => state.isOver);
  const who = useQuery(SignInService.method.whoAmI, {}, { retry: false, staleTime: Number.POSITIVE_INFINITY });
  useRenewals(state);
  useSameMember(who.data?.memberId);
  useReturnFromIssuer(state, who.data !== undefined);
  const onSignedIn = () => state.announce("signed-in");
  if (path === "/sign-in") return <SignIn onSignedIn={onSignedIn} />;
  if (who.isPending) return <Skeleton lines={4} />;
  if (who.error && !who.data) {
    if (ConnectError.from(who.error).code === Code.Unauthenticated) return <SignIn onSignedIn={onSignedIn} />;
    return (
      <main className="narrow">
        <h1>Cloakroom</h1>
        <ProblemNote problem={toCallProblem(who.error)} retry={() => void who.refetch()} />
      </main>
    );
  }
  if (!who.data) return null;
  return (
    <SessionProvider who={who.data}>
      <Shell onSignedOut={() => state.announce("signed-out")} />
      <IdleWarning state={state} />
      <LeaveQuestion />
      {isOver && (
        <Overlay title="Sign in again" isDismissable={false} isCovering onClose={() => {}}>
          <p>Your sign-in has ended, by time or because somebody changed your role. This page keeps what you typed.</p>
          <SignIn onSignedIn={onSignedIn} isEmbedded />
        </Overlay>
      )}
    </SessionProvider>
  );
}

function useRenewals(state: SignInState): void {
  const queries = useQueryClient();
  const renewals = useSyncExternalStore(state.subscribe, () => state.renewals);
  const seen = useRef(renewals);
  useEffect(() => {
    if (seen.current !== renewals) void queries.invalidateQueries();
    seen.current = renewals;
  }, [renewals, queries]);
}

/** Tells other tabs of a sign-in at the issuer, after which they can go on. */
function useReturnFromIssuer(state: SignInState, isSignedIn: boolean): void {
  useEffect(() => {
    if (isSignedIn && takeLeftForIssuer()) state.tellOtherTabs();
  }, [isSignedIn, state]);
}

/** Begins with an empty page when another person, or the same in another tenant, has signed in: nothing may mix. */
function useSameMember(memberId: string | undefined): void {
  const first = useRef(memberId);
  useEffect(() => {
    if (memberId === undefined) return;
    if (first.current !== undefined && first.current !== memberId) location.assign("/console");
    first.current = memberId;
  }, [memberId]);
}
