/** What ISO 8583 calls an approval: shown where a service approves and names no code of its own. */
export const APPROVED = "00";
