import { createContext, type ReactNode, useContext } from "react";
import type { WhoAmIResponse } from "#client/proto/cloakroom/v1/sign_ins_pb.js";

export interface Session {
  readonly who: WhoAmIResponse;
  /** Whether the role allows an operation, named Service/Method. */
  can(operation: string): boolean;
  readonly isAdministrator: boolean;
  /** Whether the role lets the person change what a user or application created: a DEVELOPER only the DEVELOPER's own. */
  mayChange(createdBy: string | undefined): boolean;
}

const SessionContext = createContext<Session | undefined>(undefined);

export function SessionProvider({ who, children }: { who: WhoAmIResponse; children: ReactNode }) {
  const operations = new Set(who.operations);
  const session = {
    who,
    can: (operation: string) => operations.has(operation),
    isAdministrator: who.role === "OWNER" || who.role === "ADMIN",
    mayChange: (createdBy: string | undefined) => who.role !== "DEVELOPER" || createdBy === who.userId,
  };
  return <SessionContext value={session}>{children}</SessionContext>;
}

/** The person; undefined before a sign-in. */
export function useSessionIfAny(): Session | undefined {
  return useContext(SessionContext);
}

/** @throws {Error} outside of a {@link SessionProvider}. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("no person is signed in");
  return session;
}
