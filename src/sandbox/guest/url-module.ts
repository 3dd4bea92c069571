/** `require("url")`: the classes, and the old functions for complete addresses. */
export function createUrlModule() {
  return {
    URL,
    URLSearchParams,
    parse(text: unknown, parseQuery?: unknown) {
      const url = URL.canParse(String(text)) ? new URL(String(text)) : undefined;
      if (url === undefined) {
        return { href: String(text), protocol: null, host: null, hostname: null, path: String(text) };
      }
      const { href, protocol, host, hostname, hash, pathname, search } = url;
      return {
        href,
        protocol,
        slashes: true,
        auth: url.username === "" ? null : decodeURIComponent(`${url.username}:${url.password}`),
        host,
        hostname,
        port: url.port || null,
        hash: hash || null,
        search: search || null,
        query: parseQuery ? Object.fromEntries(url.searchParams) : search.slice(1) || null,
        pathname,
        path: `${pathname}${search}`,
      };
    },
    format(url: unknown): string {
      if (url instanceof URL || typeof url === "string") return String(url);
      const { protocol, host, hostname, port, pathname = "", search = "", hash = "" } = Object(url);
      const authority = host ?? (port ? `${hostname}:${port}` : (hostname ?? ""));
      const scheme = protocol ? `${String(protocol).replace(/:?$/, ":")}//` : "";
      return `${scheme}${authority}${pathname ?? ""}${search ?? ""}${hash ?? ""}`;
    },
    resolve: (from: string, to: string): string => new URL(to, from).href,
  };
}
