import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { SignInState } from "../sign-in-state.js";
import { isWithoutResponse } from "./call-problem.js";
import type { Connection } from "./connection.js";

interface Observers {
  readonly session: SignInState;
  readonly connection: Connection;
}

/** Calls of this service are part of signing in: their errors say nothing about the sign-in that a page has. */
const SIGN_IN_SERVICE = "cloakroom.v1.SignInService";

/** Calls the vault that the page comes from, as the person whose sign-in the browser's cookie has. */
export function createConsoleTransport({ session, connection }: Observers): Transport {
  const addHeader: Interceptor = (next) => (request) => {
    request.header.set("X-Cloakroom-Console", "1");
    return next(request);
  };
  const observe: Interceptor = (next) => async (request) => {
    const { renewals } = session;
    try {
      const response = await next(request);
      if (request.service.typeName !== SIGN_IN_SERVICE) session.onResponse();
      return response;
    } catch (error) {
      // A call that began before a renewal says nothing about the new sign-in.
      const isSignedOut = ConnectError.from(error).code === Code.Unauthenticated && session.renewals === renewals;
      if (isSignedOut && request.service.typeName !== SIGN_IN_SERVICE) session.onSignedOut();
      if (isWithoutResponse(error)) connection.suspect();
      throw error;
    }
  };
  return createConnectTransport({
    baseUrl: location.origin,
    useBinaryFormat: true,
    defaultTimeoutMs: 40_000,
    interceptors: [observe, addHeader],
  });
}
