import { type Flags, textFlag, wholeFlag } from "../../command.js";
import type { ApiCommand } from "../api-command.js";
import { deleteCommand, getCommand } from "./entity-commands.js";
import { BODY, LISTED, METADATA } from "./flags.js";

const AMOUNT: Flags = {
  amount: wholeFlag("AMOUNT", "in the currency's smallest unit, such as cents"),
};

/** A payment that may have been made must not be made twice. */
const REPEATABLE: Flags = {
  "idempotency-key": textFlag(
    "KEY",
    "name it yourself to run the command again after a failure: for a day, one KEY acts once",
  ),
};

const REASON: Flags = {
  reason: textFlag("TEXT", "why, kept with the refund and in the log of the vault"),
};

export const PAYMENT_COMMANDS: readonly ApiCommand[] = [
  {
    name: "connections list",
    summary: "List connections to payment services",
    flags: LISTED,
    load: async () => (await import("../payment-commands.js")).listConnections,
  },
  getCommand("connections get", "Show a connection, without its credentials", "connections"),
  {
    name: "connections create",
    summary: "Create a connection and start to verify its credentials, which the file holds",
    flags: BODY,
    examples: ["--from connection.json"],
    load: async () => (await import("../payment-commands.js")).createConnection,
  },
  deleteCommand({
    name: "connections delete",
    summary: "Delete a connection; its transactions are kept",
    part: "connections",
    warning: "Connection ID will be deleted.",
  }),
  {
    name: "transactions list",
    summary: "List payments, newest first",
    flags: {
      status: textFlag("STATUS", "only this status, such as capture_succeeded"),
      "external-identifier": textFlag("TEXT", "only those with this identifier of yours"),
      "reconciliation-id": textFlag("ID", "only the one with this id at the payment service"),
      ...LISTED,
    },
    examples: ["--status authorization_succeeded --all --json"],
    load: async () => (await import("../payment-commands.js")).listTransactions,
  },
  getCommand("transactions get", "Show a payment", "transactions"),
  {
    name: "transactions create",
    summary: "Authorize or charge a card token",
    flags: {
      ...AMOUNT,
      currency: textFlag("CODE", "ISO 4217, such as EUR"),
      token: textFlag("ID", "the card token"),
      connection: textFlag("ID", "the connection that carries it out"),
      intent: textFlag("INTENT", "authorize, which is the default, or capture", ["authorize", "capture"]),
      "external-identifier": textFlag("TEXT", "your own identifier, such as an order number"),
      ...METADATA,
      ...BODY,
      ...REPEATABLE,
    },
    examples: [
      "--amount 1250 --currency EUR --token ID --connection ID",
      "--from payment.json --idempotency-key order-17",
    ],
    load: async () => (await import("../payment-commands.js")).createTransaction,
  },
  {
    name: "transactions capture",
    summary: "Capture an authorized amount, by default all of it; the rest is released",
    arguments: ["ID"],
    flags: { ...AMOUNT, ...REPEATABLE },
    load: async () => (await import("../payment-commands.js")).captureTransaction,
  },
  {
    name: "transactions void",
    summary: "Release an authorized amount",
    arguments: ["ID"],
    flags: REPEATABLE,
    load: async () => (await import("../payment-commands.js")).voidTransaction,
  },
  {
    name: "transactions sync",
    summary: "Ask the payment service for the status of a payment, and apply it",
    arguments: ["ID"],
    load: async () => (await import("../payment-commands.js")).syncTransaction,
  },
  {
    name: "refunds list",
    summary: "List the refunds of a payment",
    arguments: ["TRANSACTION"],
    flags: LISTED,
    load: async () => (await import("../payment-commands.js")).listRefunds,
  },
  {
    name: "refunds get",
    summary: "Show a refund",
    arguments: ["ID"],
    load: async () => (await import("../payment-commands.js")).getRefund,
  },
  {
    name: "refunds create",
    summary: "Refund captured money, by default all that is left",
    arguments: ["TRANSACTION"],
    flags: { ...AMOUNT, ...REASON, ...REPEATABLE },
    examples: ["ID --amount 500 --reason 'returned goods'"],
    load: async () => (await import("../payment-commands.js")).createRefund,
  },
];
