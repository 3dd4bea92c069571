/**
 * The revision that a change of rights seals in its row: the time in milliseconds, or one more than the last. It is in the
 * change's log row too, and a stored row with less than the log's highest was put back. A time: the next change of a row that
 * was put back is above all earlier ones again, and it says how long a member has had its rights.
 */
export function nextRevision(former: number, now: Date): number {
  return Math.max(former + 1, now.getTime());
}
