import { useRef, useState } from "react";
import { type CallProblem, toChangeProblem } from "../../api/call-problem.js";

export interface ProxyCall {
  readonly proxyKey: string;
  /** Empty: none. */
  readonly apiKey: string;
  readonly body: string;
  /** Whether the body of the response may be shown. */
  readonly showsBody: boolean;
}

export interface ProxyAnswer {
  readonly status: number;
  /** Why the vault itself refused the call. */
  readonly refusal: string | undefined;
  /** Undefined: not to be shown. */
  readonly body: string | undefined;
}

/** In the type of the vault's own errors. */
const FAULT = "/docs/guides/errors#";
/** The code of errors that a tenant's code describes. They may hold values. */
const OF_CODE = "proxy_error";

/** The detail of the vault's own error, if a text is one. */
function refusalIn(text: string): string | undefined {
  try {
    const { type, detail, code } = Object(Object(JSON.parse(text)).proxy_error);
    return String(type).startsWith(FAULT) && code !== OF_CODE ? String(detail) : undefined;
  } catch {
    return undefined;
  }
}

/** Sends calls without the person's sign-in: they have the rights of their key alone. */
export function useProxyCall() {
  const [answer, setAnswer] = useState<ProxyAnswer>();
  const [problem, setProblem] = useState<CallProblem>();
  const [isPending, setPending] = useState(false);
  const onItsWay = useRef<AbortController>(undefined);
  const send = async (call: ProxyCall, signal: AbortSignal) => {
    const response = await fetch("/proxy", {
      method: "POST",
      credentials: "omit",
      signal,
      headers: {
        "content-type": "application/json",
        "bt-proxy-key": call.proxyKey,
        ...(call.apiKey === "" ? {} : { "bt-api-key": call.apiKey }),
      },
      body: call.body,
    });
    const text = await response.text();
    const refusal = response.ok ? undefined : refusalIn(text);
    return { status: response.status, refusal, body: call.showsBody ? text : undefined };
  };
  return {
    answer,
    problem,
    isPending,
    send(call: ProxyCall): void {
      const controller = new AbortController();
      onItsWay.current = controller;
      const { signal } = controller;
      setAnswer(undefined);
      setProblem(undefined);
      setPending(true);
      send(call, signal)
        .then(setAnswer, (error: unknown) => signal.aborted || setProblem(toChangeProblem(error)))
        .finally(() => setPending(false));
    },
    cancel(): void {
      onItsWay.current?.abort();
    },
  };
}
