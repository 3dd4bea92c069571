import { useSearchParams } from "wouter";
import type { AccessRule } from "#client/proto/cloakroom/v1/applications_pb.js";
import { type OpenSession, SessionService } from "#client/proto/cloakroom/v1/sessions_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { Exposure } from "../../components/exposure.js";
import { Listing } from "../../components/listing.js";
import { usePageNumber } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { Id, Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
import { Author } from "../author.js";
import { type Mention, useNames } from "../names.js";

/** The sessions that have not ended: keys in browsers, which an application authorized. */
export default function Sessions() {
  const [params] = useSearchParams();
  const sessions = useRead(SessionService.method.listSessions, {
    page: usePageNumber(),
    applicationId: params.getAll("application"),
  });
  const { can } = useSession();
  const names = useNames(
    (sessions.data?.data ?? []).flatMap(({ applicationId, authorizedBy }): Mention[] => [
      ["application", applicationId],
      ["application", authorizedBy],
    ]),
  );
  const refresh = (
    <button type="button" disabled={sessions.isFetching} onClick={sessions.refetch}>
      Refresh
    </button>
  );
  return (
    <Screen title="Sessions" actions={refresh}>
      <p className="quiet">
        A browser holds the key of a session for a few minutes. It reads nothing until a private application authorizes
        it, and never more than that application may. The vault knows keys and nonces by their hashes alone.
      </p>
      <Listing
        read={sessions}
        lines={8}
        page={sessions.data?.pagination}
        label="Sessions"
        none="No session is open."
        columns={[
          { head: "Session", cell: ({ id }) => <Id>{id}</Id> },
          { head: "Made by", cell: ({ applicationId }) => <Author id={applicationId} names={names} /> },
          { head: "In", cell: ({ inFrame }) => (inFrame ? "a hosted field" : "a program") },
          {
            head: "Authorizer",
            cell: ({ authorizedBy: by }) =>
              by === undefined ? <span className="quiet">nobody yet</span> : <Author id={by} names={names} />,
          },
          { head: "May see", cell: ({ transform }) => <Exposure transform={transform} /> },
          { head: "Rights", cell: (session) => <Rights session={session} /> },
          { head: "Expires", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          can("SessionService/DeleteSession") && { head: "End", cell: ({ id }) => <EndSession id={id} /> },
        ]}
      />
    </Screen>
  );
}

function Rights({ session: { permissions, rules } }: { session: OpenSession }) {
  const count = permissions.length + rules.length;
  if (count === 0) return <span className="quiet">none</span>;
  return (
    <details>
      <summary>{count === 1 ? "1 right" : `${count} rights`}</summary>
      {rules.map((rule) => (
        <div key={rule.priority}>
          <Exposure transform={rule.transform} /> {rule.permissions.join(", ")} <Scope rule={rule} />
        </div>
      ))}
      {permissions.length > 0 && <div>Without a rule: {permissions.join(", ")}</div>}
    </details>
  );
}

function Scope({ rule: { container, conditions } }: { rule: AccessRule }) {
  if (container !== undefined) return <Name>{container}</Name>;
  return conditions.map(({ attribute, operator, value }) => (
    <span key={`${attribute} ${operator} ${value}`}>
      {attribute} {operator.replace("_", " ")} <Name>{value}</Name>{" "}
    </span>
  ));
}

function EndSession({ id }: { id: string }) {
  const { run, ...change } = useChange(SessionService.method.deleteSession);
  return (
    <Confirm {...change} action="End" title="End this session?" onConfirm={(done) => run({ id }, done)}>
      <p>
        Calls with the key of <code>{id}</code> are refused from now on. The browser that holds it needs another
        session.
      </p>
    </Confirm>
  );
}
