import { parseUrl } from "#client/parse-url.js";

interface InOtherTabProps {
  readonly issuer: string;
  /** What the sign-in's page begins with. */
  readonly query: Readonly<Record<string, string>>;
}

/** The same in another tab: the issuer's page would replace this one, and what was typed. Tabs share the sign-in. */
export function InOtherTab({ issuer, query }: InOtherTabProps) {
  return (
    <a className="button" href={`/console/sign-in?${new URLSearchParams(query)}`} target="_blank" rel="noopener">
      <span>
        Sign in at <bdi>{issuerHost(issuer)}</bdi>, in another tab
      </span>
    </a>
  );
}

/** How people know an issuer. */
export function issuerHost(address: string): string {
  return parseUrl(address)?.host ?? address;
}
