import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { callUnaryMethod, useQuery, useTransport } from "@connectrpc/connect-query";
import { QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { useSession } from "../session.js";
import { type CallProblem, toCallProblem, toChangeProblem } from "./call-problem.js";
import { reasonHeader } from "./reason-header.js";

/** Tries a read again only if the vault was too busy or away. Changes are never repeated. */
const TRIES = 2;

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // A call fails at once without a network. A paused change would be sent later, when the person has given it up.
        networkMode: "always",
        retry: (failures, error) => failures < TRIES && toCallProblem(error).kind === "unavailable",
        // A call keeps the sign-in alive, so a page makes none without its person.
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}

/** The operation's name in roles and errors, such as TokenService/GetToken. */
export function queryOperation({ parent, name }: DescMethodUnary): string {
  return `${parent.name}/${name}`;
}

export interface Read<T> {
  readonly operation: string;
  readonly isAllowed: boolean;
  readonly data: T | undefined;
  readonly problem: CallProblem | undefined;
  readonly isFetching: boolean;
  refetch(): void;
}

interface ReadOptions {
  /** Whether the input is complete. Default: true. */
  readonly enabled?: boolean;
  /** Milliseconds for which what was read is shown again without a call, unless the person changes something. Default: 0. */
  readonly staleTime?: number;
}

/** Reads, unless the role forbids it: such a call would be refused, and logged as a refusal. */
export function useRead<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
  { enabled = true, staleTime = 0 }: ReadOptions = {},
): Read<MessageShape<O>> {
  const operation = queryOperation(method);
  const isAllowed = useSession().can(operation);
  const query = useQuery(method, input, { enabled: enabled && isAllowed, staleTime });
  const problem = query.error ? toCallProblem(query.error) : undefined;
  // Old data stays while a newer read fails, but not of what the person may see no more.
  const mayShow = isAllowed && problem?.kind !== "denied";
  return {
    operation,
    isAllowed,
    data: mayShow ? query.data : undefined,
    isFetching: query.isFetching,
    problem,
    refetch: () => void query.refetch(),
  };
}

export interface Change<I extends DescMessage, O extends DescMessage> {
  readonly isAllowed: boolean;
  readonly operation: string;
  readonly isPending: boolean;
  readonly problem: CallProblem | undefined;
  /** @param reason why the person makes the change, for the log. */
  run(input: MessageInitShape<I>, onDone?: (output: MessageShape<O>) => void, reason?: string): void;
  reset(): void;
  /** Gives up a change that is on its way, and forgets its problem. The vault may have made it already. */
  cancel(): void;
}

interface Call<I extends DescMessage> {
  readonly input: MessageInitShape<I>;
  readonly reason: string | undefined;
  readonly signal: AbortSignal;
}

/** A change. Everything that screens show is read again after it. */
export function useChange<I extends DescMessage, O extends DescMessage>(method: DescMethodUnary<I, O>): Change<I, O> {
  const client = useQueryClient();
  const operation = queryOperation(method);
  const transport = useTransport();
  const onItsWay = useRef<AbortController>(undefined);
  const mutation = useMutation({
    gcTime: 0,
    mutationFn: ({ input, reason, signal }: Call<I>) =>
      callUnaryMethod(transport, method, input, {
        signal,
        ...(reason === undefined ? {} : { headers: reasonHeader(reason) }),
      }),
  });
  return {
    operation,
    isAllowed: useSession().can(operation),
    isPending: mutation.isPending,
    reset: mutation.reset,
    problem: mutation.error ? toChangeProblem(mutation.error) : undefined,
    cancel() {
      mutation.reset();
      if (!mutation.isPending) return;
      onItsWay.current?.abort();
      void client.invalidateQueries();
    },
    run(input, onDone, reason) {
      const onSuccess = (output: MessageShape<O>) => {
        onDone?.(output);
        void client.invalidateQueries();
      };
      onItsWay.current = new AbortController();
      mutation.mutate({ input, reason, signal: onItsWay.current.signal }, { onSuccess });
    },
  };
}
