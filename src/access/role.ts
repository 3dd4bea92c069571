/** The roles of members, from most rights to least. Each tenant has one OWNER, who is created with it and is permanent. */
export const ROLES = ["OWNER", "ADMIN", "AUDITOR", "DEVELOPER"] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role may administer what others created, and other people. */
export function isAdministrator(role: Role): boolean {
  return role === "OWNER" || role === "ADMIN";
}

export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}
