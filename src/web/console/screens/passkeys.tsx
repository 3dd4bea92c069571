import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Passkey, PasskeyService } from "#client/proto/cloakroom/v1/passkeys_pb.js";
import { useChange, useRead } from "../api/queries.js";
import { Confirm } from "../components/confirm.js";
import { TextField } from "../components/field.js";
import { Form } from "../components/form.js";
import { Loaded } from "../components/loaded.js";
import { ProblemNote } from "../components/problem-note.js";
import { Table } from "../components/table.js";
import { Name } from "../components/text.js";
import { Time } from "../components/time.js";
import { addPasskey } from "../passkeys/ceremonies.js";
import { useCeremony } from "../passkeys/use-ceremony.js";

/** One's own passkeys: the second factor of each sign-in. */
export function Passkeys() {
  const passkeys = useRead(PasskeyService.method.listPasskeys, {});
  return (
    <section aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      <Loaded read={passkeys}>
        {({ data }) => (
          <>
            {data.length === 0 ? (
              <p className="quiet">
                You have none. With one, each sign-in asks for it, and you can do what needs a second factor.
              </p>
            ) : (
              <PasskeyTable passkeys={data} />
            )}
            {data.length === 1 && <p className="quiet">Add a second one, and keep it elsewhere: devices get lost.</p>}
            <AddPasskey />
          </>
        )}
      </Loaded>
    </section>
  );
}

function PasskeyTable({ passkeys }: { passkeys: readonly Passkey[] }) {
  return (
    <Table
      label="Passkeys"
      rows={passkeys}
      keyOf={({ id }) => id}
      columns={[
        { head: "Name", cell: (passkey) => <PasskeyName passkey={passkey} /> },
        { head: "Kept", cell: ({ isSynced }) => (isSynced ? "on several devices" : "on one device") },
        { head: "Added", cell: ({ createdAt }) => <Time at={createdAt} /> },
        { head: "Second factor", cell: ({ countsFrom }) => (countsFrom ? <Waits at={countsFrom} /> : "yes") },
        { head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
        { head: "Remove", cell: (passkey) => <RemovePasskey passkey={passkey} isLast={passkeys.length === 1} /> },
      ]}
    />
  );
}

function Waits({ at }: { at: Timestamp }) {
  return (
    <>
      from <Time at={at} />, or once the OWNER confirms it
    </>
  );
}

function PasskeyName({ passkey: { id, name } }: { passkey: Passkey }) {
  const rename = useChange(PasskeyService.method.renamePasskey);
  const [draft, setDraft] = useState<string>();
  if (draft === undefined) {
    return (
      <>
        <Name>{name}</Name>{" "}
        <button type="button" aria-label={`Rename ${name}`} onClick={() => setDraft(name)}>
          Rename
        </button>
      </>
    );
  }
  return (
    <Form onSubmit={() => rename.run({ id, name: draft.trim() }, () => setDraft(undefined))}>
      <TextField label="New name" value={draft} onChange={setDraft} isRequired />
      {rename.problem && <ProblemNote problem={rename.problem} />}
      <button type="submit" disabled={rename.isPending}>
        Save
      </button>
    </Form>
  );
}

function RemovePasskey({ passkey: { id, name }, isLast }: { passkey: Passkey; isLast: boolean }) {
  const { run, isAllowed: _, ...change } = useChange(PasskeyService.method.deletePasskey);
  return (
    <Confirm {...change} action="Remove" title="Remove this passkey?" onConfirm={(done) => run({ id }, done)}>
      <p>
        <Name>{name}</Name> no longer works here.{" "}
        {isLast && "It is your last one: signing in will need a link or your account only."}
      </p>
    </Confirm>
  );
}

function AddPasskey() {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const add = useCeremony(
    (transport) => addPasskey(transport, name.trim()),
    () => {
      setName("");
      void queries.invalidateQueries();
    },
  );
  if (/^[\d.]+$|:/.test(location.hostname)) return <NeedsName />;
  return (
    <Form className="form" onSubmit={add.run}>
      {add.problem && <ProblemNote problem={add.problem} />}
      <TextField
        label="Name of a new passkey"
        value={name}
        onChange={setName}
        isRequired
        placeholder="Laptop, or the key in the safe"
        problem={add.problem?.fields.get("name")}
      />
      <div>
        <button type="submit" disabled={add.isPending}>
          Add a passkey
        </button>
      </div>
    </Form>
  );
}

function NeedsName() {
  const { protocol, port, pathname } = location;
  const address = `${protocol}//localhost${port && `:${port}`}${pathname}`;
  return (
    <div className="note">
      <p>
        Browsers make no passkeys for numeric addresses. On this machine, sign in at <code>{address}</code>.
      </p>
    </div>
  );
}
