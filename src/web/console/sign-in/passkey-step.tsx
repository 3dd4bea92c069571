import { useLocation } from "wouter";
import { ProblemNote } from "../components/problem-note.js";
import { signInWithPasskey } from "../passkeys/ceremonies.js";
import { useCeremony } from "../passkeys/use-ceremony.js";

interface PasskeyStepProps {
  readonly onSignedIn: () => void;
  readonly isEmbedded: boolean;
  /** Begins again with another link. */
  readonly onGiveUp: () => void;
}

/** The second step of signing in. Browsers show their dialog only after a click. */
export function PasskeyStep({ onSignedIn, isEmbedded, onGiveUp }: PasskeyStepProps) {
  const [, navigate] = useLocation();
  const ceremony = useCeremony(signInWithPasskey, () => {
    if (!isEmbedded) navigate("/", { replace: true });
    onSignedIn();
  });
  return (
    <div className="form">
      <p>One more step: your account asks for a passkey.</p>
      {ceremony.problem && <ProblemNote problem={ceremony.problem} />}
      <button type="button" className="primary" disabled={ceremony.isPending} onClick={ceremony.run}>
        Use your passkey
      </button>
      <p className="quiet">
        Without your passkey, ask an OWNER or ADMIN to reset it. The OWNER asks who runs this server.
      </p>
      <button type="button" onClick={onGiveUp}>
        Begin again with another link
      </button>
    </div>
  );
}
