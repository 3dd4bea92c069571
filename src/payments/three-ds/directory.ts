import type { AuthenticationStatus } from "./session.js";

/** The issuer's response to an authentication request, or after a challenge. */
export interface DirectoryVerdict {
  readonly status: AuthenticationStatus;
  readonly statusReason?: string;
  readonly challengeType?: "static" | "out-of-band";
  readonly challengeMandated?: boolean;
}

/** A card network's directory with its issuers. The built-in one simulates them by card number. */
export interface ThreeDSDirectory {
  authenticate(number: string): DirectoryVerdict;
  /** The result of a challenge that the cardholder passed. */
  afterChallenge(number: string): DirectoryVerdict;
}

/** EMV 3DS transStatus. */
export const STATUS_CODES: Readonly<Record<AuthenticationStatus, string>> = {
  successful: "Y",
  attempted: "A",
  failed: "N",
  unavailable: "U",
  challenge: "C",
  rejected: "R",
};

interface Play {
  readonly first: DirectoryVerdict;
  readonly afterwards?: DirectoryVerdict;
}

const FAILED: DirectoryVerdict = { status: "failed", statusReason: "card-authentication-failed" };
const REJECTED: DirectoryVerdict = { status: "rejected", statusReason: "suspected-fraud" };
const UNAVAILABLE: DirectoryVerdict = { status: "unavailable", statusReason: "acs-technical-issue" };
const CHALLENGE: DirectoryVerdict = { status: "challenge", challengeType: "static" };
const OUT_OF_BAND: DirectoryVerdict = { status: "challenge", challengeType: "out-of-band" };
const SUCCESSFUL: DirectoryVerdict = { status: "successful" };
const ATTEMPTED: DirectoryVerdict = { status: "attempted", statusReason: "authentication-attempted-but-not-performed" };

/** Test numbers of 3-D Secure sessions, and those that the simulator challenges. */
const PLAYS: ReadonlyMap<string, Play> = new Map<string, Play>([
  ["4200000000000003", { first: ATTEMPTED }],
  ["4200000000000005", { first: FAILED }],
  ["4200000000000006", { first: UNAVAILABLE }],
  ["4200000000000007", { first: REJECTED }],
  ["4200000000000004", { first: CHALLENGE }],
  ["4200000000000014", { first: CHALLENGE }],
  ["4200000000000015", { first: { ...CHALLENGE, challengeMandated: true } }],
  ["4200000000000016", { first: OUT_OF_BAND }],
  ["4200000000000008", { first: CHALLENGE, afterwards: ATTEMPTED }],
  ["4200000000000009", { first: CHALLENGE, afterwards: FAILED }],
  ["4200000000000017", { first: OUT_OF_BAND, afterwards: FAILED }],
  ["4200000000000010", { first: CHALLENGE, afterwards: UNAVAILABLE }],
  ["4200000000000011", { first: CHALLENGE, afterwards: REJECTED }],
  ["4200000000000012", { first: UNAVAILABLE }],
  ["4200000000000013", { first: UNAVAILABLE }],
  ["4000000000003220", { first: { ...CHALLENGE, challengeMandated: true } }],
  ["4000008400001629", { first: CHALLENGE, afterwards: FAILED }],
  ["4000002500003155", { first: CHALLENGE }],
  ["4000000000003097", { first: UNAVAILABLE }],
  ["4000000000000002", { first: REJECTED }],
]);

/** Simulates the directory and issuers without a network: cards that are not listed are authenticated at once. */
export const simulatedDirectory: ThreeDSDirectory = {
  authenticate: (number) => PLAYS.get(number)?.first ?? SUCCESSFUL,
  afterChallenge: (number) => PLAYS.get(number)?.afterwards ?? SUCCESSFUL,
};
