import { type InterceptedRequest, type InterceptedResponse, type Interceptor, misuse } from "./options.js";
import type { AttemptResponse } from "./transport.js";

export const KEY_HEADER = "bt-api-key";

/**
 * Sends an attempt through interceptors, which see neither its input nor its key.
 * @throws what `send` or an interceptor throws; {CloakroomError} for an interceptor that calls next() twice, or never.
 */
export async function intercepted(
  interceptors: readonly Interceptor[],
  request: InterceptedRequest,
  send: (headers: Readonly<Record<string, string>>) => Promise<AttemptResponse>,
): Promise<AttemptResponse> {
  const { [KEY_HEADER]: key, ...shown } = request.headers;
  const seen: InterceptedRequest = { ...request, headers: shown };
  let response: AttemptResponse | undefined;
  let isSent = false;
  const last = async () => {
    // A second request could run the call twice, without the checks before a retry.
    if (isSent) throw misuse("An interceptor called next() twice.");
    isSent = true;
    response = await send(key === undefined ? seen.headers : { ...seen.headers, [KEY_HEADER]: key });
    return { headers: response.headers };
  };
  await interceptors.reduceRight<() => Promise<InterceptedResponse>>(
    (next, intercept) => () => intercept(seen, next),
    last,
  )();
  if (!response) throw misuse("An interceptor sent no call.");
  return response;
}
