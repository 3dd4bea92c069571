import { useMutation } from "@connectrpc/connect-query";
import { SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { toCallProblem } from "../api/call-problem.js";
import { store } from "../browser-storage.js";
import { ProblemNote } from "../components/problem-note.js";
import { issuerHost } from "../in-other-tab.js";
import { noteLeftForIssuer } from "../left-for-issuer.js";

interface AtIssuerProps {
  readonly issuer: string;
  /** Required if the vault has several tenants. */
  readonly tenantId: string | undefined;
  /** Whether the person must sign in there again, for a second factor. */
  readonly isFresh: boolean;
}

/** Goes to the page of the OpenID Connect issuer. */
export function AtIssuer({ issuer, tenantId, isFresh }: AtIssuerProps) {
  const begin = useMutation(SignInService.method.beginOpenIdSignIn, {
    onSuccess({ authorizationUrl }) {
      if (tenantId !== undefined) store("localStorage", "cloakroom-tenant", tenantId);
      noteLeftForIssuer();
      location.assign(authorizationUrl);
    },
  });
  return (
    <div className="form">
      <p className="quiet">or</p>
      {begin.error && <ProblemNote problem={toCallProblem(begin.error)} />}
      <button
        type="button"
        disabled={begin.isPending}
        onClick={() => begin.mutate({ fresh: isFresh, ...(tenantId === undefined ? {} : { tenantId }) })}
      >
        Sign in at <bdi>{issuerHost(issuer)}</bdi>
      </button>
    </div>
  );
}
