import { Link } from "wouter";
import { ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { LogService } from "#client/proto/cloakroom/v1/logs_pb.js";
import { MemberService } from "#client/proto/cloakroom/v1/members_pb.js";
import { TenantService } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { type Read, useRead } from "../../api/queries.js";
import { Loaded } from "../../components/loaded.js";
import { Metric, Metrics } from "../../components/metric.js";
import { Screen } from "../../components/screen.js";
import { DetailList } from "../../components/table.js";
import { useSession } from "../../session.js";
import { LogRows } from "../log/log-rows.js";
import { FirstCall } from "./first-call.js";

const NUMBER = new Intl.NumberFormat();

/** What to do next, and what happened last. */
export function Start() {
  const { who, can } = useSession();
  return (
    <Screen title="Home">
      <Numbers />
      {can("ApplicationService/CreateApplication") ? <FirstSteps /> : <Reading />}
      <LastRows />
      <DetailList
        pairs={[
          ["Tenant", <bdi key="name">{who.tenantName}</bdi>],
          ["Tenant id", <code key="id">{who.tenantId}</code>],
          ["Base URL", <code key="url">{location.origin}</code>],
          ["Your role", who.role],
        ]}
      />
    </Screen>
  );
}

/** What the tenant has, as the server counts it. */
function Numbers() {
  const usage = useRead(TenantService.method.getUsageReport, {});
  const applications = useRead(ApplicationService.method.listApplications, { size: 1 });
  const members = useRead(MemberService.method.listMembers, { size: 1 });
  const { metricsByType, monthlyActiveTokens } = usage.data?.tokenReport ?? {};
  const tokens = metricsByType && Object.values(metricsByType).reduce((sum, { count }) => sum + count, 0n);
  const shown = (count: bigint | number | undefined) => (count === undefined ? undefined : NUMBER.format(count));
  return (
    <Metrics>
      {usage.isAllowed && <Metric label="Tokens" value={shown(tokens)} href="/tokens" />}
      {usage.isAllowed && <Metric label="Active this month" value={shown(monthlyActiveTokens)} href="/usage" />}
      {applications.isAllowed && (
        <Metric label="Applications" value={shown(applications.data?.pagination?.totalItems)} href="/applications" />
      )}
      {members.isAllowed && (
        <Metric label="Members" value={shown(members.data?.pagination?.totalItems)} href="/members" />
      )}
    </Metrics>
  );
}

/** From no token to one that a partner gets without the person's programs holding it. */
function FirstSteps() {
  const { can } = useSession();
  const [seesTokens, canCreate] = [can("TokenService/GetToken"), can("TokenService/CreateToken")];
  const applications = useRead(ApplicationService.method.listApplications, { type: ["private", "public"], size: 1 });
  const tokens = useRead(TokenService.method.searchTokensByCursor, { size: 1 });
  return (
    <section aria-labelledby="steps">
      <h2 id="steps">First steps</h2>
      <ol className="steps">
        <li data-done={countOf(applications) > 0}>
          <h3>Make an application</h3>
          <p>
            An application is a program that calls the vault. Its access rules say what it may do with which tokens, and
            its key is shown once. <Link href="/applications?new=1">Make an application</Link> with the permissions{" "}
            <code>token:create</code> and <code>token:read</code>.
          </p>
        </li>
        <li data-done={(tokens.data?.data.length ?? 0) > 0}>
          <h3>Store a first card</h3>
          {canCreate && (
            <p>
              <Link href="/tokens?new=1">Make one here</Link>, or call the vault with the application's key:
            </p>
          )}
          <FirstCall />
        </li>
        <li>
          <h3>Look at the token</h3>
          <p>
            {seesTokens ? (
              <>
                <Link href="/tokens">Tokens</Link> shows it masked.
              </>
            ) : (
              "An OWNER, ADMIN or AUDITOR finds it under Tokens, and its rows in the log."
            )}
          </p>
        </li>
        <li>
          <h3>See who can see it</h3>
          <p>
            {seesTokens ? (
              <>
                The token's page lists every application with the rule by which it is masked, revealed or refused. The{" "}
                <Link href="/log">log</Link> has a row for each read.
              </>
            ) : (
              <>
                <Link href="/access">Who can see this?</Link> lists every application with the rule by which a token of
                a container is masked, revealed or refused.
              </>
            )}
          </p>
        </li>
        <UseStep />
      </ol>
    </section>
  );
}

function UseStep() {
  const { isAdministrator } = useSession();
  return (
    <li>
      <h3>Use the value without holding it</h3>
      <p>
        A proxy puts the value into requests to a partner. {isAdministrator ? <UsingApplication /> : <ForUsing />} Then{" "}
        <Link href="/proxies?new=1">make a proxy</Link> with the partner's address as its destination. Its page has its
        key and the call to copy.
      </p>
    </li>
  );
}

function UsingApplication() {
  return (
    <>
      <Link href="/applications?new=1">Make an application</Link> with <code>token:use</code> that shows{" "}
      <code>reveal</code>: it may send values on, so the console asks for a second factor.
    </>
  );
}

function ForUsing() {
  return (
    <>
      Ask an OWNER or ADMIN for the key of an application with <code>token:use</code> that shows <code>reveal</code>:
      your role cannot make one.
    </>
  );
}

/** What a role without changes is here for. */
function Reading() {
  return (
    <section aria-labelledby="reading">
      <h2 id="reading">What you can read</h2>
      <ul>
        <li>
          <Link href="/access">Who can see this?</Link> says which applications and roles see a token, and which rule
          decides.
        </li>
        <li>
          The <Link href="/log">log</Link> has a row for each read and change: filter it, follow a trace, export it.
        </li>
        <li>
          <Link href="/applications">Applications</Link> and <Link href="/members">members</Link> show who has which
          rights.
        </li>
      </ul>
      <p className="quiet">Your role changes nothing, and sees no value.</p>
    </section>
  );
}

function countOf(applications: Read<{ pagination?: { totalItems: number } | undefined }>): number {
  return applications.data?.pagination?.totalItems ?? 0;
}

function LastRows() {
  const { can } = useSession();
  const logs = useRead(LogService.method.listLogs, { size: 5 });
  if (!can("LogService/ListLogs")) return null;
  return (
    <section aria-labelledby="last">
      <h2 id="last">Last rows of the log</h2>
      <Loaded read={logs}>{({ data }) => <LogRows rows={data} label="Last rows of the log" />}</Loaded>
    </section>
  );
}
