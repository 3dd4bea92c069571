/**
 * `require("url")`: the classes, and Node's older functions from the npm package.
 * @param load loads that package at first use of its functions, because most code uses only the classes.
 */
export function createUrlModule(load: () => unknown) {
  let loaded: unknown;
  const older = () => {
    loaded ??= load();
    return Object(loaded);
  };
  return {
    URL,
    URLSearchParams,
    parse: (...args: unknown[]) => older().parse(...args),
    resolve: (...args: unknown[]) => older().resolve(...args),
    resolveObject: (...args: unknown[]) => older().resolveObject(...args),
    format: (url: unknown) => (url instanceof URL ? url.href : older().format(url)),
    domainToASCII: (domain: unknown) => domainHost(String(domain)),
    domainToUnicode: (domain: unknown) => domainHost(String(domain)),
    fileURLToPath: (url: unknown) => decodeURIComponent(new URL(String(url)).pathname),
    pathToFileURL: (path: unknown) => new URL(`file://${encodeURI(String(path))}`),
    urlToHttpOptions({ protocol, hostname, hash, search, pathname, href, port, username, password }: URL) {
      return {
        protocol,
        hostname,
        hash,
        search,
        pathname,
        href,
        path: `${pathname}${search}`,
        ...(port === "" ? {} : { port: Number(port) }),
        ...(username === "" && password === ""
          ? {}
          : { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` }),
      };
    },
  };
}

function domainHost(domain: string): string {
  return URL.canParse(`https://${domain}`) ? new URL(`https://${domain}`).hostname : "";
}
