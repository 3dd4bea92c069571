import type { Transport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { Router } from "wouter";
import { createQueryClient } from "./api/queries.js";
import { createConsoleTransport } from "./api/transport.js";
import { Gate } from "./gate.js";
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

export function App() {
  const [{ state, transport, queries }] = useState(createParts);
  return (
    <TransportProvider transport={transport}>
      <QueryClientProvider client={queries}>
        <Router base="/console">
          <Gate state={state} />
        </Router>
      </QueryClientProvider>
    </TransportProvider>
  );
}
