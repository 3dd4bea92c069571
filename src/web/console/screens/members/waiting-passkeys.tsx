import type { Member } from "#client/proto/cloakroom/v1/members_pb.js";
import { type Passkey, PasskeyService } from "#client/proto/cloakroom/v1/passkeys_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { Loaded } from "../../components/loaded.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { memberName } from "./member-name.js";

/** Passkeys that were added without a second factor, and that the OWNER can confirm before their day is over. */
export function WaitingPasskeys({ members }: { members: readonly Member[] }) {
  const waiting = useRead(PasskeyService.method.listPasskeys, { waiting: true });
  const passkeyOwner = ({ memberId }: Passkey) => {
    const member = members.find(({ id }) => id === memberId);
    return member ? memberName(member) : memberId;
  };
  return (
    <Loaded read={waiting}>
      {({ data }) =>
        data.length === 0 ? null : (
          <section aria-labelledby="waiting-passkeys">
            <h2 id="waiting-passkeys">Passkeys to confirm</h2>
            <p className="quiet">
              They sign in, and count as a second factor from the time below on. The OWNER can confirm them before.
            </p>
            <Table
              label="Passkeys to confirm"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                { head: "Person", cell: (passkey) => <Name>{passkeyOwner(passkey)}</Name> },
                { head: "Passkey", cell: ({ name }) => <Name>{name}</Name> },
                { head: "Added", cell: ({ createdAt }) => <Time at={createdAt} /> },
                { head: "Counts from", cell: ({ countsFrom }) => <Time at={countsFrom} /> },
                {
                  head: "Confirm",
                  cell: (passkey) => <ConfirmPasskey passkey={passkey} person={passkeyOwner(passkey)} />,
                },
              ]}
            />
          </section>
        )
      }
    </Loaded>
  );
}

function ConfirmPasskey({ passkey: { id, name }, person }: { passkey: Passkey; person: string }) {
  const { isAllowed, run, ...change } = useChange(PasskeyService.method.confirmPasskey);
  if (!isAllowed) return null;
  return (
    <Confirm
      {...change}
      action="Confirm"
      title="Is this passkey the member's?"
      onConfirm={(done) => run({ id }, () => done())}
    >
      <p>
        Ask <Name>{person}</Name> whether they have just added <Name>{name}</Name>. It counts as a second factor at
        once.
      </p>
    </Confirm>
  );
}
