import { type SignIn, SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { useChange, useRead } from "../api/queries.js";
import { Listing } from "../components/listing.js";
import { ProblemNote } from "../components/problem-note.js";
import { Time } from "../components/time.js";

/** The browsers in which a person is signed in. Without a member: one's own. */
export function SignInTable({ memberId }: { memberId?: string }) {
  const signIns = useRead(SignInService.method.listSignIns, memberId === undefined ? {} : { memberId });
  return (
    <Listing
      read={signIns}
      label="Sign-ins"
      none={<p className="quiet">Not signed in.</p>}
      columns={[
        { head: "Browser", cell: ({ client, current }) => (current ? `${client} (this one)` : client) },
        { head: "Address", cell: ({ address }) => <code>{address}</code> },
        { head: "By", cell: ({ method }) => method },
        { head: "Signed in", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { head: "Last used", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
        { head: "End", cell: (signIn) => <End signIn={signIn} /> },
      ]}
    />
  );
}

function End({ signIn: { id, current } }: { signIn: SignIn }) {
  const end = useChange(SignInService.method.endSignIn);
  if (current) return <span className="quiet">sign out</span>;
  return (
    <>
      <button type="button" className="danger" disabled={end.isPending} onClick={() => end.run({ id })}>
        End
      </button>
      {end.problem && <ProblemNote problem={end.problem} />}
    </>
  );
}
