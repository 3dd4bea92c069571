import { type SignIn, SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { useChange, useRead } from "../api/queries.js";
import { Loaded } from "../components/loaded.js";
import { ProblemNote } from "../components/problem-note.js";
import { Table } from "../components/table.js";
import { Time } from "../components/time.js";

/** The browsers in which a person is signed in. Without a member: one's own. */
export function SignInTable({ memberId }: { memberId?: string }) {
  const signIns = useRead(SignInService.method.listSignIns, memberId === undefined ? {} : { memberId });
  return (
    <Loaded read={signIns}>
      {({ data }) =>
        data.length === 0 ? (
          <p className="quiet">Not signed in.</p>
        ) : (
          <Table
            label="Sign-ins"
            rows={data}
            keyOf={({ id }) => id}
            columns={[
              { head: "Browser", cell: ({ client, current }) => (current ? `${client} (this one)` : client) },
              { head: "Address", cell: ({ address }) => <code>{address}</code> },
              { head: "By", cell: ({ method }) => method },
              { head: "Signed in", cell: ({ createdAt }) => <Time at={createdAt} /> },
              { head: "Last used", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
              { head: "End", cell: (signIn) => <End signIn={signIn} /> },
            ]}
          />
        )
      }
    </Loaded>
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
