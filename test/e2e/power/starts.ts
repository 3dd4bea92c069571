import type { Start } from "./world.js";

/** Those with whom a search begins. */
export const STARTS: readonly Start[] = [
  { role: "OWNER", hasSecondFactor: false, containers: [] },
  { role: "ADMIN", hasSecondFactor: false, containers: [] },
  { role: "ADMIN", hasSecondFactor: true, containers: [] },
  { role: "AUDITOR", hasSecondFactor: false, containers: [] },
  { role: "AUDITOR", hasSecondFactor: true, containers: [] },
  { role: "DEVELOPER", hasSecondFactor: false, containers: [] },
  { role: "DEVELOPER", hasSecondFactor: true, containers: [] },
  { role: "DEVELOPER", hasSecondFactor: false, containers: ["/test/"] },
  { role: "DEVELOPER", hasSecondFactor: true, containers: ["/test/"] },
];
