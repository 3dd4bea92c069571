import { describe, expect, it } from "vitest";
import {
  actingThrough,
  type Caller,
  callerKeyProof,
  callingApplication,
  callingPerson,
  loggedActor,
  sendingTo,
} from "../../src/access/caller.js";
import { isKeyOfType } from "../../src/access/session.js";
import { newUuid } from "../../src/base/ids.js";
import { applicationCaller, personCaller } from "../support/caller.js";
import { rightsOf } from "./rights.js";

const application = applicationCaller(rightsOf("plain read"));
const session: Caller = {
  ...applicationCaller(rightsOf("plain read"), "public"),
  keyId: undefined,
  session: { id: newUuid() },
  endsAt: new Date("2030-01-01"),
};
const code: Caller = { ...application, keyId: undefined };
const person = personCaller("ADMIN");

describe("the author of a request in the log", () => {
  it.each([
    ["a key is its application, by the key", application, "application", application.principal, application.keyId],
    [
      "a session is its public application, by the session",
      session,
      "application",
      session.principal,
      session.session?.id,
    ],
    ["code that acts as an application is that, by no key", code, "application", code.principal, undefined],
  ] as const)("%s", (_, caller, type, principal, keyId) => {
    const id = principal.kind === "application" ? principal.id : expect.fail("it is an application");
    expect(loggedActor(caller)).toMatchObject({ type, id, keyId });
    expect(callingApplication(caller).id).toBe(id);
    expect(() => callingPerson(caller)).toThrow("Only a person who is signed in may do this.");
  });

  it("is a person by its user id, which is the same in all tenants, and its sign-in", () => {
    const { userId, signInId } = person.principal;
    expect(loggedActor(person)).toMatchObject({ type: "user", id: userId, keyId: signInId });
    expect(callingPerson(person)).toBe(person.principal);
    expect(() => callingApplication(person)).toThrow("Only the key of an application may do this.");
  });

  it("stays the same through a proxy and to a host, and the row names them", () => {
    const via = { type: "proxy", id: newUuid() } as const;
    const sent = sendingTo(actingThrough(application, via), "partner.example");
    expect(loggedActor(sent)).toMatchObject({ id: loggedActor(application).id, keyId: application.keyId });
    expect(sent.context).toEqual({ ...application.context, via, destinationHost: "partner.example" });
    expect(application.context).toMatchObject({ via: undefined, destinationHost: undefined });
  });
});

it("the memory for bodies is shared by application, and by session of it", () => {
  const { tenantId } = session;
  const ids = { applicationId: loggedActor(session).id, sessionId: session.session?.id };
  expect(callerKeyProof(session)).toEqual({ kind: "key", tenantId, ...ids, party: "pages" });
  expect(callerKeyProof(application)).toMatchObject({ sessionId: undefined });
});

it.each([
  ["a private application", application, "back end"],
  ["a public one", applicationCaller(rightsOf(), "public"), "pages"],
  ["a session, which is in a page", session, "pages"],
  ["a person", person, "back end"],
] as const)("the turns of %s are those of a party that its caller cannot choose", (_, caller, party) => {
  expect(callerKeyProof(caller)).toMatchObject({ party });
});

it.each([
  ["public", applicationCaller(rightsOf(), "public"), true],
  ["public", session, false],
  ["public", application, false],
  ["private", application, true],
  ["management", application, false],
  ["private", person, false],
] as const)("sessions need the key of a %s application itself: %#", (type, caller, isOne) => {
  expect(isKeyOfType(type, caller)).toBe(isOne);
});
