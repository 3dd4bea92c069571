/** Scopes that are counted separately. Every request counts as `global`, and some in one more. */
export const RATE_SCOPES = ["global", "portal", "token_read", "token_write", "token_search", "token_bulk"] as const;
export type RateScope = (typeof RATE_SCOPES)[number];

/** Requests of one client per {@link WINDOW_SECONDS}, by scope. */
export type RatePoints = Readonly<Record<RateScope, number>>;

export const WINDOW_SECONDS = 10;
/** How long a client that exceeds a limit is refused in that scope. */
export const BLOCK_SECONDS = 10;

/** The limits of a vault without CLOAKROOM_RATE_LIMITS; `portal` is for pages that people open. */
export const DOCUMENTED_POINTS: RatePoints = {
  global: 1_000,
  portal: 600,
  token_read: 100,
  token_write: 200,
  token_search: 50,
  token_bulk: 600,
};

const MAX_POINTS = 1_000_000_000;

/**
 * Parses the operator's changes to the documented limits: `global=5000,token_search=200`.
 * @throws Error with one line that names the entry and what is expected.
 */
export function readRatePoints(text: string): RatePoints {
  const points: Record<RateScope, number> = { ...DOCUMENTED_POINTS };
  for (const entry of text.split(",").map((part) => part.trim())) {
    const [, name, digits] = /^(\w+)=(\d{1,10})$/.exec(entry) ?? [];
    const scope = RATE_SCOPES.find((known) => known === name);
    const value = Number(digits);
    if (!scope || value < 1 || value > MAX_POINTS) {
      throw new Error(
        `CLOAKROOM_RATE_LIMITS must be off, or scope=requests separated by commas, with the scopes ${RATE_SCOPES.join(", ")} ` +
          `and 1 to ${MAX_POINTS} requests in ${WINDOW_SECONDS} seconds; "${entry}" is not valid.`,
      );
    }
    points[scope] = value;
  }
  return points;
}
