/** How long a proof of a second factor counts. */
const SECOND_FACTOR_MS = 5 * 60_000;

/** Until when a proof of a second factor counts; undefined without a proof, or after that time. */
export function secondFactorUntil(provenAt: Date | null, now: Date): Date | undefined {
  if (!provenAt) return undefined;
  const until = new Date(provenAt.getTime() + SECOND_FACTOR_MS);
  return until > now ? until : undefined;
}
