import type { Transport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { type AroundNavHandler, Router } from "wouter";
import { createQueryClient } from "./api/queries.js";
import { createConsoleTransport } from "./api/transport.js";
import { useConsoleLocation, useConsoleSearch } from "./console-history.js";
import { SignInGate } from "./gate.js";
import { leaveGuard } from "./leave-guard.js";
import { SignInState } from "./sign-in-state.js";

interface Parts {
  readonly state: SignInState;
  readonly transport: Transport;
  readonly queries: ReturnType<typeof createQueryClient>;
}

function createParts(): Parts {
  const state = new SignInState();
  return { state, transport: createConsoleTransport(state), queries: createQueryClient() };
}

/** Links and buttons of the console lead away only once nothing is lost. */
const askBeforeLeaving: AroundNavHandler = (navigate, to, options) => leaveGuard.leave(() => navigate(to, options));

export function App() {
  const [{ state, transport, queries }] = useState(createParts);
  return (
    <TransportProvider transport={transport}>
      <QueryClientProvider client={queries}>
        <Router base="/console" hook={useConsoleLocation} searchHook={useConsoleSearch} aroundNav={askBeforeLeaving}>
          <SignInGate state={state} />
        </Router>
      </QueryClientProvider>
    </TransportProvider>
  );
}
