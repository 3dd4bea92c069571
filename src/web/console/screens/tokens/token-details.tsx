import { Link } from "wouter";
import { PermissionService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { LogService } from "#client/proto/cloakroom/v1/logs_pb.js";
import { type Token, TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { useRead } from "../../api/queries.js";
import { DeleteEntity } from "../../components/delete-entity.js";
import { Loaded } from "../../components/loaded.js";
import { Screen } from "../../components/screen.js";
import { DetailList } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
import { textOfValue } from "../../values.js";
import { AccessTable } from "../access/access-table.js";
import { LogRows } from "../log/log-rows.js";
import { type Names, useAuthors } from "../names.js";
import { EditToken } from "./edit-token.js";
import { RevealValue } from "./reveal-value.js";
import { ContainerLinks } from "./token-list.js";

/** One token: what the vault knows of it, and its life in the log. */
export function TokenDetails({ id }: { id: string }) {
  const token = useRead(TokenService.method.getToken, { id });
  return (
    <Screen
      title="Token"
      actions={
        token.data && (
          <>
            <EditToken token={token.data} />
            <DeleteEntity method={TokenService.method.deleteToken} request={{ id }} kind="token" list="/tokens">
              Its value is lost for ever. Programs that still use the token get an error.
            </DeleteEntity>
          </>
        )
      }
    >
      <Loaded read={token} lines={10}>
        {(found) => <Facts token={found} />}
      </Loaded>
      {token.data && <RevealValue key={id} id={id} />}
      {token.data && <WhoSees token={token.data} />}
      <Life id={id} />
    </Screen>
  );
}

function Facts({ token }: { token: Token }) {
  const names = useAuthors([token.createdBy, token.modifiedBy]);
  const { id, type, data, containers, fingerprint, metadata, card, expiresAt } = token;
  const details = card && [card.brand, card.funding, card.bin && `BIN ${card.bin}`].filter(Boolean).join(", ");
  return (
    <DetailList
      pairs={[
        ["Id", <Name key="id">{id}</Name>],
        ["Type", type],
        ["Masked value", data === undefined ? <Hidden key="data" /> : <pre key="data">{textOfValue(data)}</pre>],
        ["Card", details],
        ["Containers", <ContainerLinks key="containers" paths={containers} />],
        ["Fingerprint", fingerprint && <code key="fingerprint">{fingerprint}</code>],
        ["Metadata", <Metadata key="metadata" entries={metadata} />],
        ["Expires", expiresAt],
        ["Created", <Stamp key="created" by={token.createdBy} names={names} at={token.createdAt} />],
        [
          "Changed",
          token.modifiedAt && <Stamp key="modified" by={token.modifiedBy} names={names} at={token.modifiedAt} />,
        ],
      ]}
    />
  );
}

function Hidden() {
  const seesNone = useSession().who.role === "AUDITOR";
  return (
    <span className="quiet">
      {seesNone ? "Your role sees no value, not even masked." : "This token has no mask, so nothing of it is shown."}
    </span>
  );
}

function Metadata({ entries }: { entries: Token["metadata"] }) {
  const all = Object.entries(entries);
  if (all.length === 0) return <span className="quiet">none</span>;
  return all.map(([name, value]) => (
    <div key={name}>
      <bdi dir="auto">{name}</bdi>: <bdi dir="auto">{value}</bdi>
    </div>
  ));
}

function Stamp({ by, at, names }: { by: string | undefined; at: Token["createdAt"]; names: Names }) {
  return (
    <>
      <Time at={at} />
      {by && (
        <>
          {" by "}
          <span title={by}>
            {names.get(by)?.kind} <Name>{names.get(by)?.name ?? by}</Name>
          </span>
        </>
      )}
    </>
  );
}

/** What each application and role sees of the token, by the vault's own decision. */
function WhoSees({ token: { id, containers } }: { token: Token }) {
  const access = useRead(PermissionService.method.explainAccess, { tokenId: id, size: 50 });
  return (
    <section aria-labelledby="sees">
      <h2 id="sees">Who can see this?</h2>
      <Loaded read={access}>
        {(found) => <AccessTable found={found} permission="token:read" containers={containers} />}
      </Loaded>
      <Link href={`/access?${new URLSearchParams({ token: id })}`}>Ask about another permission</Link>
    </section>
  );
}

/** Everything that the log has about a token, whatever its type. */
function Life({ id }: { id: string }) {
  const logs = useRead(LogService.method.listLogs, { entityType: "token", entityId: id, size: 50 });
  return (
    <section aria-labelledby="life">
      <h2 id="life">Its life</h2>
      <Loaded read={logs}>
        {({ data, pagination }) => (
          <>
            <LogRows rows={data} label="Log rows of this token" />
            <Link href={`/log?${new URLSearchParams({ entity_type: "token", entity_id: id, transform: "reveal" })}`}>
              Who saw it in the clear?
            </Link>
            {pagination?.next !== undefined && (
              <Link href={`/log?${new URLSearchParams({ entity_type: "token", entity_id: id })}`}>All its rows</Link>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}
