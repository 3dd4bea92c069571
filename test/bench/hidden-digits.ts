import { Agent, request } from "node:http";
import { performance } from "node:perf_hooks";
import { passesLuhn } from "../../src/base/luhn.js";
import { frameHeader } from "../support/frame-pass.js";
import type { BenchServer } from "./bench-server.js";
import { say } from "./table.js";
import { post } from "./token-requests.js";

/** Pairs of requests. Of each, the card that goes first is drawn. */
const PAIRS = 3_000;
const WARM_UP = 300;
const SHOP = "https://shop.example.com";

const TEMPLATES = [
  {
    name: "order",
    mask: { number: "{{ data.number | reveal_last: 4 }}" },
    search_indexes: ["{{ data.number | last4 }}"],
    fingerprint_expression: "{{ data.number }}",
  },
];

/**
 * Compares the times of a frame's requests for two cards that differ in hidden digits alone: their mean difference with a
 * confidence interval of 95 %, and Welch's t. Between -2 and 2 nothing tells the cards apart. The same card twice says what
 * this machine's noise is.
 */
export async function hiddenDigitTimes(server: BenchServer): Promise<void> {
  const definition = { name: "Shop", type: "public", permissions: ["token:create"], allowed_origins: [SHOP] };
  const body = { ...definition, templates: TEMPLATES };
  const key = String((await post(server, "/applications", server.managementKey, body)).key);
  const url = `http://127.0.0.1:${server.port}`;
  const headers = { ...(await frameHeader(url, key, SHOP)), "BT-API-KEY": key, "Content-Type": "application/json" };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const timeOf = (number: string) =>
    new Promise<number>((resolve, reject) => {
      const data = { number, expiration_month: 7, expiration_year: 2031, cvc: "123" };
      const text = JSON.stringify({ type: "card", data, template: "order" });
      const began = performance.now();
      const sent = request(`${url}/tokenize`, { method: "POST", agent, headers }, (response) => {
        response.resume().on("end", () => {
          if (response.statusCode !== 200) reject(new Error(`tokenize returned ${response.statusCode}`));
          resolve(performance.now() - began);
        });
      });
      sent.on("error", reject).end(text);
    });
  const [one = "", other = ""] = numbers();
  for (let index = 0; index < WARM_UP; index += 1) await timeOf(one);
  for (const [name, pair] of [
    ["two cards", [one, other]],
    ["one card twice", [one, one]],
  ] as const) {
    const times: [number[], number[]] = [[], []];
    for (let index = 0; index < PAIRS; index += 1) {
      const order = Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const);
      for (const card of order) times[card].push(await timeOf(pair[card]));
    }
    say(`hidden digits, ${name}: ${compared(...times)}`);
  }
  agent.destroy();
}

/** Two valid numbers with the same BIN and last four digits, one with small digits between and one with large. */
function numbers(): string[] {
  const all = Array.from({ length: 10_000 }, (_, n) => `42424242${String(n).padStart(4, "0")}4242`).filter(passesLuhn);
  return [all[0] ?? "", all.at(-1) ?? ""];
}

function compared(one: readonly number[], other: readonly number[]): string {
  const difference = mean(other) - mean(one);
  const error = Math.sqrt(variance(one) / one.length + variance(other) / other.length);
  const us = (ms: number) => `${(1_000 * ms).toFixed(1)} µs`;
  return `${us(mean(one))} and ${us(mean(other))}, difference ${us(difference)} ± ${us(1.96 * error)}, t ${(difference / error).toFixed(2)}, medians ${us(median(one))} and ${us(median(other))}, ${one.length} pairs`;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function variance(values: readonly number[]): number {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}
