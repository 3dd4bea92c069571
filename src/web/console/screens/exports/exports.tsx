import { useState } from "react";
import { type TokenExport, TokenExportService } from "#client/proto/cloakroom/v1/token_exports_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { Exposure } from "../../components/exposure.js";
import { Empty, Loaded } from "../../components/loaded.js";
import { Screen } from "../../components/screen.js";
import { DetailList } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
import { type Mention, type Names, useNames } from "../names.js";
import { RequestExport } from "./request-export.js";

/** Requests to export tokens, and their approvals. The export itself is a program's, with its own key. */
export default function Exports() {
  const exports = useRead(TokenExportService.method.listTokenExports, {});
  const { can } = useSession();
  const [isAsking, setAsking] = useState(false);
  const data = exports.data?.data ?? [];
  const names = useNames(
    data.flatMap(({ requestedBy, approvedBy }): Mention[] => [
      ["user", requestedBy],
      ["user", approvedBy],
    ]),
  );
  const ask = can("TokenExportService/RequestTokenExport") && (
    <button type="button" className="primary" onClick={() => setAsking(true)}>
      Request an export
    </button>
  );
  return (
    <Screen title="Exports" actions={ask}>
      <p className="quiet">
        An application exports tokens with its own key, by <code>cloakroom tokens export</code>. Where the settings ask
        for two people, one requests it here and another approves. Each step waits for an hour.
      </p>
      <Loaded read={exports} lines={4}>
        {() =>
          data.length === 0 ? (
            <Empty>
              <p>No request or approval is open.</p>
              <a href="/docs/guides/moving-in" className="button">
                Read how tokens move in and out
              </a>
            </Empty>
          ) : (
            <div className="board">
              {data.map((one) => (
                <OpenExport key={one.id} one={one} names={names} />
              ))}
            </div>
          )
        }
      </Loaded>
      {isAsking && <RequestExport onClose={() => setAsking(false)} />}
    </Screen>
  );
}

function OpenExport({ one, names }: { one: TokenExport; names: Names }) {
  const { id, state, applicationName, applicationId, reason, requestedBy, approvedBy, expiresAt, requestedAt } = one;
  const { container, type, rules, keyIds } = one;
  const person = (userId: string) => <Name>{names.get(userId)?.name ?? userId}</Name>;
  return (
    <section className="card whole" aria-labelledby={id}>
      <div className="screen-head">
        <h2 id={id}>
          <Name>{applicationName}</Name> <span className={state === "approved" ? "pill good" : "pill"}>{state}</span>
        </h2>
        <div className="actions">
          <Approve one={one} />
          <End one={one} />
        </div>
      </div>
      <DetailList
        pairs={[
          [
            "Why",
            <bdi key="reason" dir="auto">
              {reason}
            </bdi>,
          ],
          ["Application", <code key="application">{applicationId}</code>],
          [
            "Tokens",
            [type ? `of the type ${type}` : "of every type", container && `below ${container}`]
              .filter(Boolean)
              .join(", "),
          ],
          ["It sees", <Rules key="rules" rules={rules} />],
          ["Keys", <code key="keys">{keyIds.join(", ")}</code>],
          [
            "Requested by",
            <span key="by">
              {person(requestedBy)}, <Time at={requestedAt} />
            </span>,
          ],
          ["Approved by", approvedBy && person(approvedBy)],
          [state === "approved" ? "Counts until" : "Waits until", <Time key="end" at={expiresAt} />],
        ]}
      />
    </section>
  );
}

/** The first that covers a token decides. */
function Rules({ rules }: Pick<TokenExport, "rules">) {
  return rules.map(({ container, transform }) => (
    <div key={container}>
      <Exposure transform={transform} /> <Name>{container}</Name>
    </div>
  ));
}

/** Of another person's request only: the vault refuses one's own. */
function Approve({ one: { id, state, requestedBy, applicationName } }: { one: TokenExport }) {
  const { userId } = useSession().who;
  const { isAllowed, run, ...change } = useChange(TokenExportService.method.approveTokenExport);
  if (!isAllowed || state === "approved") return null;
  if (requestedBy === userId) return <span className="quiet">Another OWNER or ADMIN must approve it.</span>;
  return (
    <Confirm {...change} action="Approve" title="Approve this export?" onConfirm={(done) => run({ id }, done)}>
      <p>
        <Name>{applicationName}</Name> may then export these tokens for an hour. What has left the vault cannot be taken
        back.
      </p>
    </Confirm>
  );
}

function End({ one: { id, state, requestedBy } }: { one: TokenExport }) {
  const { userId } = useSession().who;
  const { isAllowed, run, ...change } = useChange(TokenExportService.method.deleteTokenExport);
  if (!isAllowed) return null;
  const action = state === "approved" ? "End" : requestedBy === userId ? "Withdraw" : "Refuse";
  return (
    <Confirm {...change} action={action} title={`${action} this export?`} onConfirm={(done) => run({ id }, done)}>
      <p>The application may not export by it. Another export needs another request.</p>
    </Confirm>
  );
}
