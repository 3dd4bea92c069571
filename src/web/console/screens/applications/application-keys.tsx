import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { Link } from "wouter";
import { type ApplicationKey, ApplicationKeyService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { Listing } from "../../components/listing.js";
import { NewSecret } from "../../components/new-secret.js";
import { Id, Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
import { Author } from "../author.js";
import { useAuthors } from "../names.js";
import { MakeKey } from "./make-key.js";

interface ApplicationKeysProps {
  readonly id: string;
  /** Whether the person may change the application. */
  readonly isOwn: boolean;
}

/** The keys of an application: made, and revoked. Their secrets are shown when they are made. */
export function ApplicationKeys({ id, isOwn }: ApplicationKeysProps) {
  const keys = useRead(ApplicationKeyService.method.listApplicationKeys, { id, size: 100 });
  const names = useAuthors(keys.data?.data.map(({ createdBy }) => createdBy) ?? []);
  const { can, mayChange } = useSession();
  const [isMaking, setMaking] = useState(false);
  const [secret, setSecret] = useState<string | undefined>();
  return (
    <section aria-labelledby="keys">
      <div className="screen-head">
        <h2 id="keys">Keys</h2>
        {can("ApplicationKeyService/CreateApplicationKey") && isOwn && (
          <button type="button" onClick={() => setMaking(true)}>
            New key
          </button>
        )}
      </div>
      {secret !== undefined && <NewSecret name="key" secret={secret} />}
      <Listing
        read={keys}
        label="Keys"
        none="There is no key, so nothing can call the vault as this application."
        columns={[
          { head: "Name", cell: (key) => <KeyName applicationKey={key} /> },
          { head: "Owner", cell: ({ owner }) => owner && <Name>{owner}</Name> },
          { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
          { head: "By", cell: ({ createdBy }) => createdBy && <Author id={createdBy} names={names} /> },
          { head: "Expires", cell: ({ expiresAt }) => <Expiry at={expiresAt} /> },
          can("LogService/ListLogs") && {
            head: "Last used",
            cell: (key) => <LastUse applicationId={id} applicationKey={key} />,
          },
          can("ApplicationKeyService/DeleteApplicationKey") &&
            isOwn && {
              head: "Revoke",
              cell: (key) => mayChange(key.createdBy) && <RevokeKey applicationId={id} keyId={key.id} />,
            },
        ]}
      />
      {isMaking && <MakeKey applicationId={id} onMade={setSecret} onClose={() => setMaking(false)} />}
    </section>
  );
}

function KeyName({ applicationKey: { id, name } }: { applicationKey: ApplicationKey }) {
  return (
    <>
      {name !== undefined && <Name>{name}</Name>} <Id>{id}</Id>
    </>
  );
}

/** A key that has expired is refused, and stays in the list until somebody revokes it. */
function Expiry({ at }: { at: Timestamp | undefined }) {
  if (!at) return <span className="quiet">never</span>;
  return (
    <>
      <Time at={at} /> {timestampMs(at) <= Date.now() && <span className="pill bad">expired</span>}
    </>
  );
}

interface LastUseProps {
  readonly applicationId: string;
  readonly applicationKey: ApplicationKey;
}

/** Taken from the log, and shown to those who may read it. */
function LastUse({ applicationId, applicationKey: { id, lastUsedAt } }: LastUseProps) {
  const query = new URLSearchParams({ actor_id: applicationId, key_id: id });
  return (
    <>
      {lastUsedAt ? <Time at={lastUsedAt} /> : <span className="quiet">never</span>}{" "}
      <Link href={`/log?${query}`}>Its rows</Link>
    </>
  );
}

function RevokeKey({ applicationId: id, keyId }: { applicationId: string; keyId: string }) {
  const { run, ...change } = useChange(ApplicationKeyService.method.deleteApplicationKey);
  return (
    <Confirm {...change} action="Revoke" title="Revoke this key?" onConfirm={(done) => run({ id, keyId }, done)}>
      <p>
        Calls with the key <code>{keyId}</code> are refused from now on.
      </p>
    </Confirm>
  );
}
