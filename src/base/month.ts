/** The month of a time, as its first day in UTC: YYYY-MM-DD. */
export function firstOfMonth(time: Date): string {
  return `${time.getUTCFullYear()}-${String(time.getUTCMonth() + 1).padStart(2, "0")}-01`;
}
