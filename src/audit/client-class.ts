/** Programs that log rows tell apart, by the start of their user agent. The major version follows, where it says more. */
const KNOWN: readonly (readonly [start: RegExp, name: string])[] = [
  [/^cloakroom-(node|browser|cli|python|go|java)\/(\d{1,3})\./i, "cloakroom-"],
  [/^Mozilla\//, "browser"],
  [/^curl\//, "curl"],
  [/^(?:grpc-[a-z+-]+|grpc)\//, "grpc"],
  [/^connect-[a-z]+\//, "connect"],
  [/^(?:axios|node-fetch|undici|node)(?:\/|$)/, "node"],
  [/^python-(?:requests|urllib3|httpx)\//, "python"],
  [/^Go-http-client\//, "go"],
  [/^(?:okhttp|Apache-HttpClient|Java)[-/]/, "java"],
  [/^PostmanRuntime\//, "postman"],
];

/**
 * The class of a client, at most 64 characters. Log rows have it in place of the user agent itself, into which a caller
 * could write anything.
 * @returns undefined without a user agent.
 */
export function classifyClient(userAgent: string | undefined): string | undefined {
  if (userAgent === undefined || userAgent === "") return undefined;
  for (const [start, name] of KNOWN) {
    const found = start.exec(userAgent);
    if (!found) continue;
    const [, product, version] = found;
    return product && version ? `${name}${product.toLowerCase()}/${version}` : name;
  }
  return "other";
}
