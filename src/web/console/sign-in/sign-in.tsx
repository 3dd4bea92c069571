import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useState } from "react";
import { useSearchParams } from "wouter";
import { SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { toCallProblem } from "../api/call-problem.js";
import { stored } from "../browser-storage.js";
import { Skeleton } from "../components/loaded.js";
import { Logo } from "../components/logo.js";
import { ProblemNote } from "../components/problem-note.js";
import { InOtherTab } from "../in-other-tab.js";
import { useSessionIfAny } from "../session.js";
import { AskForLink } from "./ask-for-link.js";
import { AtIssuer } from "./at-issuer.js";
import { PasskeyStep } from "./passkey-step.js";
import { TakeLink } from "./take-link.js";

interface SignInProps {
  readonly onSignedIn: () => void;
  /** Whether it is shown in a dialog over the console. */
  readonly isEmbedded?: boolean;
}

/** The link's secret, which follows # and so never reaches a server's log. It is removed from the address at once. */
function takeLinkFromAddress(): string | undefined {
  const link = location.hash.slice(1);
  if (!link.startsWith("lnk_")) return undefined;
  history.replaceState(history.state, "", location.pathname + location.search);
  return link;
}

/** Signs people in: by a link in the address, by mail, or at the operator's issuer. */
export function SignIn({ onSignedIn, isEmbedded = false }: SignInProps) {
  const [link, setLink] = useState(takeLinkFromAddress);
  useEffect(() => {
    if (isEmbedded) return undefined;
    document.title = "Sign in · Cloakroom";
    const onHash = () => setLink((current) => takeLinkFromAddress() ?? current);
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, [isEmbedded]);
  const [needsPasskey, setNeedsPasskey] = useState(false);
  const content = needsPasskey ? (
    <PasskeyStep onSignedIn={onSignedIn} isEmbedded={isEmbedded} onGiveUp={() => setNeedsPasskey(false)} />
  ) : link === undefined ? (
    <Methods onPasskeyNeeded={() => setNeedsPasskey(true)} />
  ) : (
    <TakeLink
      link={link}
      onSignedIn={onSignedIn}
      onPasskeyNeeded={() => {
        setLink(undefined);
        setNeedsPasskey(true);
      }}
      onGiveUp={() => setLink(undefined)}
    />
  );
  if (isEmbedded) return content;
  return (
    <main className="narrow">
      <Logo />
      <h1>Sign in to Cloakroom</h1>
      {navigator.cookieEnabled ? content : <WithoutCookies />}
    </main>
  );
}

/** Such a browser would begin a sign-in, use the link up, and forget it. */
function WithoutCookies() {
  return (
    <div className="note problem" role="alert">
      <p>This browser keeps no cookies of {location.host}, and a sign-in is one. Allow them, and try again.</p>
      <button type="button" className="primary" onClick={() => location.reload()}>
        Try again
      </button>
    </div>
  );
}

function Methods({ onPasskeyNeeded }: { readonly onPasskeyNeeded: () => void }) {
  const methods = useQuery(SignInService.method.getSignInMethods, {});
  const [params] = useSearchParams();
  // Over the console, the person signs in to the same tenant again: another would begin with an empty page.
  const own = useSessionIfAny()?.who.tenantId;
  const tenant = useState(() => own ?? params.get("tenant") ?? stored("localStorage", "cloakroom-tenant") ?? "");
  if (methods.error) {
    const problem = toCallProblem(methods.error);
    return <ProblemNote key={problem.message} problem={problem} retry={() => void methods.refetch()} />;
  }
  if (!methods.data) return <Skeleton lines={3} />;
  const { needsTenant, openidIssuer, awaitsPasskey, mailIsFiled } = methods.data;
  return (
    <>
      {awaitsPasskey && (
        <div className="note">
          <p>A sign-in waits for your passkey in this browser.</p>
          <button type="button" className="primary" onClick={onPasskeyNeeded}>
            Continue with your passkey
          </button>
        </div>
      )}
      <AskForLink needsTenant={needsTenant} tenant={tenant} mailIsFiled={mailIsFiled} />
      {openidIssuer !== undefined && own !== undefined && <InOtherTab issuer={openidIssuer} query={{ tenant: own }} />}
      {openidIssuer !== undefined && own === undefined && (
        <AtIssuer
          issuer={openidIssuer}
          tenantId={needsTenant ? tenant[0].trim() : undefined}
          isFresh={params.has("fresh")}
        />
      )}
    </>
  );
}
