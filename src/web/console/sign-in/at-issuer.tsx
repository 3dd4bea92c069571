import { useMutation } from "@connectrpc/connect-query";
import { SignInService } from "../../../../clients/typescript/src/proto/cloakroom/v1/sign_ins_pb.js";
import { problemOf } from "../api/call-problem.js";
import { ProblemNote } from "../components/problem-note.js";

interface AtIssuerProps {
  readonly issuer: string;
  /** Required if the vault has several tenants. */
  readonly tenantId: string | undefined;
}

/** Goes to the page of the OpenID Connect issuer. */
export function AtIssuer({ issuer, tenantId }: AtIssuerProps) {
  const begin = useMutation(SignInService.method.beginOpenIdSignIn, {
    onSuccess: ({ authorizationUrl }) => location.assign(authorizationUrl),
  });
  return (
    <div className="form">
      <p className="quiet">or</p>
      {begin.error && <ProblemNote problem={problemOf(begin.error)} />}
      <button
        type="button"
        disabled={begin.isPending}
        onClick={() => begin.mutate(tenantId === undefined ? {} : { tenantId })}
      >
        Sign in at <bdi>{hostOf(issuer)}</bdi>
      </button>
    </div>
  );
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}
