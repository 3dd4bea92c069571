/** How much of client addresses log rows keep: all, the network (/24 or /48), or nothing. */
const LOGGED_ADDRESSES = ["full", "truncated", "none"] as const;
export type LoggedAddresses = (typeof LOGGED_ADDRESSES)[number];

export function isLoggedAddresses(text: string): text is LoggedAddresses {
  return LOGGED_ADDRESSES.some((known) => known === text);
}
