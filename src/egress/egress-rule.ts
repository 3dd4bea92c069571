import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { type Address, isWithin, readAddress } from "./address-class.js";
import { readHost } from "./host.js";

/** One entry of the operator's lists. An entry without a port covers every port. */
export type EgressRule =
  | {
      readonly kind: "range";
      readonly network: readonly [Address, number];
      /** The entry names exactly one address. */
      readonly single: boolean;
      readonly port: number | undefined;
    }
  | { readonly kind: "host"; readonly name: string; readonly subdomains: boolean; readonly port: number | undefined };

const expected =
  "expected a CIDR (10.0.0.0/8), an address (10.1.2.3, [fd00::1]), a host (api.example.com) or its subdomains " +
  "(*.example.com), the last three with an optional :port";

/**
 * Parses a comma-separated list.
 * @param variable the setting's name, for the error.
 * @throws Error with one line that names the entry and what is expected.
 */
export function parseEgressRules(variable: string, list: string): readonly EgressRule[] {
  const entries = list.split(",").map((entry) => entry.trim());
  return entries.filter((entry) => entry !== "").map((entry) => parseEntry(variable, entry));
}

export function coversAddress(rule: EgressRule, ip: string, port: number): boolean {
  if (rule.kind !== "range" || !coversPort(rule, port)) return false;
  const address = readAddress(ip);
  return address !== undefined && isWithin(address, rule.network);
}

export function coversHost(rule: EgressRule, host: string, port: number): boolean {
  if (rule.kind !== "host" || !coversPort(rule, port)) return false;
  return rule.subdomains ? host.endsWith(`.${rule.name}`) : host === rule.name;
}

export function coversPort(rule: EgressRule, port: number): boolean {
  return rule.port === undefined || rule.port === port;
}

function parseEntry(variable: string, entry: string): EgressRule {
  const wrong = (expectation: string) => new Error(`${variable}: "${entry}" is not valid: ${expectation}`);
  if (isIP(entry) !== 0) return addressRule(entry, undefined);
  if (entry.includes("/")) {
    const rule = parseRange(entry);
    if (typeof rule === "string") throw wrong(rule);
    return rule;
  }
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:[\]]+))(?::([0-9]{1,5}))?$/.exec(entry) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535)) throw wrong("expected a port from 1 to 65535");
  const address = bracketed ?? plain ?? "";
  if (isIP(address) === (bracketed === undefined ? 4 : 6)) return addressRule(address, port);
  const subdomains = plain?.startsWith("*.") ?? false;
  const host = plain === undefined ? undefined : ruleHost(subdomains ? plain.slice(2) : plain);
  if (host === undefined) throw wrong(expected);
  if (host.kind === "address") throw wrong(`write the address as ${host.text}`);
  return { kind: "host", name: host.text, subdomains, port };
}

function addressRule(ip: string, port: number | undefined): EgressRule {
  const address = ipaddr.parse(ip);
  return { kind: "range", network: [address, address.kind() === "ipv4" ? 32 : 128], single: true, port };
}

/** @returns the rule, or what is expected instead. */
function parseRange(entry: string): EgressRule | string {
  const [, ip = "", digits = ""] = /^([^/]+)\/([0-9]{1,3})$/.exec(entry) ?? [];
  const version = isIP(ip);
  const bits = Number(digits);
  const width = version === 4 ? 32 : 128;
  if (version === 0 || digits === "" || bits > width) return expected;
  // A range whose address has bits beyond the prefix is a typing error, and either reading may be the wrong one.
  const first = (version === 4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(`${ip}/${bits}`).toString();
  const network = ipaddr.parse(ip);
  if (first !== network.toString())
    return `write the range as ${first}/${bits}, or the single address without a prefix`;
  return { kind: "range", network: [network, bits], single: bits === width, port: undefined };
}

function ruleHost(text: string) {
  if (!URL.canParse(`https://${text}/`) || /[\s/\\?#@%]/.test(text)) return undefined;
  return readHost(new URL(`https://${text}/`).hostname);
}
