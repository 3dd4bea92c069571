import { useState } from "react";
import { type ApplicationKey, ApplicationKeyService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { Empty, Loaded } from "../../components/loaded.js";
import { ProblemNote } from "../../components/problem-note.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
import { KeyUse } from "./key-use.js";
import { NewKey } from "./new-key.js";

interface ApplicationKeysProps {
  readonly id: string;
  /** Whether the person may change the application. */
  readonly isOwn: boolean;
}

/** The keys of an application: made, and revoked. Their secrets are shown when they are made. */
export function ApplicationKeys({ id, isOwn }: ApplicationKeysProps) {
  const keys = useRead(ApplicationKeyService.method.listApplicationKeys, { id, size: 100 });
  const create = useChange(ApplicationKeyService.method.createApplicationKey);
  const { can } = useSession();
  const [secret, setSecret] = useState<string | undefined>();
  return (
    <section aria-labelledby="keys">
      <h2 id="keys">Keys</h2>
      {secret !== undefined && <NewKey secret={secret} />}
      {create.problem && <ProblemNote key={create.problem.message} problem={create.problem} />}
      <Loaded read={keys}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>
              <p>There is no key, so nothing can call the vault as this application.</p>
            </Empty>
          ) : (
            <Table
              label="Keys"
              rows={data}
              keyOf={(key) => key.id}
              columns={[
                { head: "Id", cell: (key) => <code>{key.id}</code> },
                { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
                { head: "By", cell: ({ createdBy }) => createdBy && <Name>{createdBy}</Name> },
                ...(can("LogService/ListLogs")
                  ? [{ head: "Last used", cell: (key: ApplicationKey) => <KeyUse applicationId={id} keyId={key.id} /> }]
                  : []),
                ...(can("ApplicationKeyService/DeleteApplicationKey") && isOwn
                  ? [{ head: "Revoke", cell: (key: ApplicationKey) => <RevokeKey applicationId={id} keyId={key.id} /> }]
                  : []),
              ]}
            />
          )
        }
      </Loaded>
      {create.isAllowed && isOwn && (
        <div>
          <button
            type="button"
            disabled={create.isPending}
            onClick={() => create.run({ id }, ({ key }) => setSecret(key))}
          >
            New key
          </button>
        </div>
      )}
    </section>
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
