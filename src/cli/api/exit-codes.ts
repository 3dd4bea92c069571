/** Why a command ends with which code. docs/command-line.md lists them. */
export const EXIT_CODES = {
  done: 0,
  failed: 1,
  wrongCall: 2,
  notSignedIn: 4,
  notFound: 5,
  denied: 6,
  conflict: 7,
  unavailable: 8,
  interrupted: 130,
} as const;

export const EXIT_CODE_MEANINGS: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT_CODES.done, "done"],
  [EXIT_CODES.failed, "failed for another reason, such as data that the vault does not accept"],
  [EXIT_CODES.wrongCall, "the command, an option or an argument is wrong; nothing was sent"],
  [EXIT_CODES.notSignedIn, "no key, or one that is not valid"],
  [EXIT_CODES.notFound, "not found"],
  [EXIT_CODES.denied, "the key may not do this"],
  [EXIT_CODES.conflict, "in conflict with what exists or with another change"],
  [EXIT_CODES.unavailable, "not reached, not in time, or rate limited, after all retries"],
  [EXIT_CODES.interrupted, "interrupted by Ctrl-C"],
];

const BY_ERROR: Readonly<Record<string, number>> = {
  unauthenticated: EXIT_CODES.notSignedIn,
  not_found: EXIT_CODES.notFound,
  permission_denied: EXIT_CODES.denied,
  second_factor_required: EXIT_CODES.denied,
  reason_required: EXIT_CODES.denied,
  already_exists: EXIT_CODES.conflict,
  conflict: EXIT_CODES.conflict,
  wrong_state: EXIT_CODES.conflict,
  idempotency_in_flight: EXIT_CODES.conflict,
  rate_limited: EXIT_CODES.unavailable,
  unavailable: EXIT_CODES.unavailable,
  connection_failed: EXIT_CODES.unavailable,
  timeout: EXIT_CODES.unavailable,
  canceled: EXIT_CODES.interrupted,
};

/** The exit code for an error of the client, by its `code`. */
export function exitCodeFor(code: string): number {
  return BY_ERROR[code] ?? EXIT_CODES.failed;
}
