import { useMutation } from "@connectrpc/connect-query";
import { useLocation } from "wouter";
import { SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { toCallProblem } from "../api/call-problem.js";
import { ProblemNote } from "../components/problem-note.js";

interface TakeLinkProps {
  readonly link: string;
  readonly onSignedIn: () => void;
  /** The member has a passkey, which is asked for next. */
  readonly onPasskeyNeeded: () => void;
  /** Asks for another link. */
  readonly onGiveUp: () => void;
}

/** Signs in with a link when its button is pressed: programs that open links of mails press none. */
export function TakeLink({ link, onSignedIn, onPasskeyNeeded, onGiveUp }: TakeLinkProps) {
  const [, navigate] = useLocation();
  const take = useMutation(SignInService.method.takeSignInLink, {
    onSuccess({ needsPasskey }) {
      if (needsPasskey) {
        onPasskeyNeeded();
        return;
      }
      navigate("/", { replace: true });
      onSignedIn();
    },
  });
  if (take.error) {
    return (
      <>
        <ProblemNote problem={toCallProblem(take.error)} />
        <button type="button" onClick={onGiveUp}>
          Ask for another link
        </button>
      </>
    );
  }
  return (
    <div className="form">
      <p>The link works once.</p>
      <button type="button" className="primary" disabled={take.isPending} onClick={() => take.mutate({ link })}>
        Sign in
      </button>
    </div>
  );
}
