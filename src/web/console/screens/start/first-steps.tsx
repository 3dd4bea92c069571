import { Link } from "wouter";
import { useSession } from "../../session.js";
import { FirstCall } from "./first-call.js";

export interface FirstStepsProps {
  readonly hasApplication: boolean;
  readonly hasToken: boolean;
}

/** From no token to one that a partner gets without the person's programs holding it. */
export function FirstSteps({ hasApplication, hasToken }: FirstStepsProps) {
  const { can } = useSession();
  const [seesTokens, canCreate] = [can("TokenService/GetToken"), can("TokenService/CreateToken")];
  return (
    <section aria-labelledby="steps">
      <h2 id="steps">First steps</h2>
      <ol className="steps">
        <li data-done={hasApplication}>
          <h3>Make an application</h3>
          <p>
            An application is a program that calls the vault. Its access rules say what it may do with which tokens, and
            its key is shown once. <Link href="/applications?new=1">Make an application</Link> with the permissions{" "}
            <code>token:create</code> and <code>token:read</code>.
          </p>
        </li>
        <li data-done={hasToken}>
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
export function Reading() {
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
