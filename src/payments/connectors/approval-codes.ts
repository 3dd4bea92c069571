/** The approval code of ISO 8583, shown for a service that approves without a code of its own. */
export const APPROVED = "00";
