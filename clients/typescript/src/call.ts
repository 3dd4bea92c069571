/** Options of one call. */
export interface CallOptions {
  /** Cancels the call: it then fails with the code `canceled`. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the whole call, with all attempts and the waits between them. 0 sets no limit. */
  readonly timeout?: number | undefined;
  /** How often the call may be sent again. */
  readonly maxRetries?: number | undefined;
  /** 1 to 255 characters. A call that changes something has one of its own unless you name it. For a day, the server returns its earlier response to a key it knows, whatever the call asks for. */
  readonly idempotencyKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Why the call is made, for the log of the vault, in place of the client's own reason. */
  readonly reason?: string | undefined;
  /** Finds the call in the operator's log: up to 128 of letters, digits, `.`, `_` and `-`. */
  readonly traceId?: string | undefined;
}

/** A response with what came along. */
export interface ResponseOf<T> {
  readonly data: T;
  readonly traceId: string | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** How often the call was sent. */
  readonly attempts: number;
}

/** A call under way. */
export interface Call<T> extends Promise<T> {
  /** Waits for the response together with its headers. */
  withResponse(): Promise<ResponseOf<T>>;
}

export function callOf<T>(response: Promise<ResponseOf<T>>): Call<T> {
  const data = response.then(({ data }) => data);
  return Object.assign(data, {
    withResponse() {
      // The caller sees a failure in the response. Without this, Node reports an unhandled rejection of the data.
      data.catch(() => {});
      return response;
    },
  });
}
