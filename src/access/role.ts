/** The roles of members, from most rights to least. Each tenant has one OWNER, who is created with it and is permanent. */
export const ROLES = ["OWNER", "ADMIN", "AUDITOR", "DEVELOPER"] as const;
export type Role = (typeof ROLES)[number];

export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}
