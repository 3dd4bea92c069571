import type { Transport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { type AroundNavHandler, Router } from "wouter";
import { Connection } from "./api/connection.js";
import { createQueryClient } from "./api/queries.js";
import { createConsoleTransport } from "./api/transport.js";
import { ConnectionNotice } from "./components/connection-notice.js";
import { useConsoleLocation, useConsoleSearch } from "./console-history.js";
import { SignInGate } from "./gate.js";
import { leaveGuard } from "./leave-guard.js";
import { SignInState } from "./sign-in-state.js";

interface Parts {
  readonly connection: Connection;
  readonly state: SignInState;
  readonly transport: Transport;
  readonly queries: ReturnType<typeof createQueryClient>;
}

function createParts(): Parts {
  const [state, connection, queries] = [new SignInState(), new Connection(), createQueryClient()];
  connection.subscribe(() => {
    if (!connection.isLost) void queries.refetchQueries({ predicate: (query) => query.state.status === "error" });
  });
  return { state, connection, queries, transport: createConsoleTransport({ session: state, connection }) };
}

/** Links and buttons of the console lead away only once nothing is lost. */
const askBeforeLeaving: AroundNavHandler = (navigate, to, options) => leaveGuard.leave(() => navigate(to, options));

export function App() {
  const [{ state, connection, transport, queries }] = useState(createParts);
  return (
    <TransportProvider transport={transport}>
      <QueryClientProvider client={queries}>
        <Router base="/console" hook={useConsoleLocation} searchHook={useConsoleSearch} aroundNav={askBeforeLeaving}>
          <SignInGate state={state} />
          <ConnectionNotice connection={connection} />
        </Router>
      </QueryClientProvider>
    </TransportProvider>
  );
}
