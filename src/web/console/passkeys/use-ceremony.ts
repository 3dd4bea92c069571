import type { Transport } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { type CallProblem, toCallProblem } from "../api/call-problem.js";

/** What browsers name the failure of a passkey, in words for people. */
const FAILURES: Readonly<Record<string, string>> = {
  NotAllowedError: "The passkey was not used: the time was over, or you cancelled.",
  AbortError: "The passkey was not used: the time was over, or you cancelled.",
  InvalidStateError: "This device or key has a passkey for you already.",
  NotSupportedError: "This device cannot make such a passkey. Use one with a PIN, a finger or a face.",
  SecurityError: "Passkeys do not work under this address.",
};

/** A dialog between the vault, the browser and a person's passkey. */
export interface Ceremony {
  readonly isPending: boolean;
  readonly problem: CallProblem | undefined;
  run(): void;
}

export function useCeremony<T>(steps: (transport: Transport) => Promise<T>, onDone: (result: T) => void): Ceremony {
  const transport = useTransport();
  const mutation = useMutation({ mutationFn: () => steps(transport), onSuccess: onDone, gcTime: 0 });
  return {
    isPending: mutation.isPending,
    problem: mutation.error ? problemOfCeremony(mutation.error) : undefined,
    run: () => mutation.mutate(),
  };
}

function problemOfCeremony(error: Error): CallProblem {
  const message = FAILURES[error.name];
  if (message === undefined) return toCallProblem(error);
  return { ...toCallProblem(error), kind: "invalid", message };
}
