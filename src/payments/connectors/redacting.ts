import type { Card } from "../contract/card.js";
import type { Connector, ConnectorContext } from "../contract/connector.js";
import type { ProviderCodes, ThreeDSOutcome } from "../contract/outcome.js";
import type { WebhookReading } from "../contract/webhook.js";

/** Replaces a secret. */
const REDACTED = "[redacted]";
/** A card number with any grouping: no service has codes of its own that are as long. */
const CARD_NUMBER = /\d(?:[ -]?\d){11,18}/g;
const MAX_TEXT_LENGTH = 200;
/** Shorter values are not treated as secrets: redacting them would remove common words. */
const MIN_SECRET_LENGTH = 6;

/**
 * Removes secrets from the texts that a connector takes from its service: a service may quote an invalid request, card
 * number included.
 */
export function redacting(inner: Connector): Connector {
  return {
    formulaId: inner.formulaId,
    hostOf: (context) => inner.hostOf(context),
    async authorize(context, request) {
      const clean = cleaner(context, request.card.reveal());
      return cleanAll(await inner.authorize(context, request), clean);
    },
    async capture(context, request) {
      return cleanAll(await inner.capture(context, request), cleaner(context));
    },
    async void(context, request) {
      return cleanAll(await inner.void(context, request), cleaner(context));
    },
    async refund(context, request) {
      return cleanAll(await inner.refund(context, request), cleaner(context));
    },
    async lookUp(context, payment) {
      return cleanFound(await inner.lookUp(context, payment), cleaner(context));
    },
    async finishApproval(context, approval) {
      return cleanFound(await inner.finishApproval(context, approval), cleaner(context));
    },
    checkCredentials: (context) => inner.checkCredentials(context),
    readWebhook: (context, delivery) => cleanReading(inner.readWebhook(context, delivery), cleaner(context)),
  };
}

type Clean = (text: string) => string;

function cleaner(context: ConnectorContext, card?: Card): Clean {
  const secrets = [...context.fields.values()].map((field) => field.reveal());
  const words = [...secrets.filter((secret) => secret.length >= MIN_SECRET_LENGTH), ...(card ? [card.number] : [])];
  // Three digits may appear in any text. If these three have no digit beside them, they are taken for the card's code.
  const cvc = card?.cvc === undefined ? undefined : new RegExp(`(?<!\\d)${card.cvc}(?!\\d)`, "g");
  return (text) => {
    const shown = words.reduce((rest, word) => rest.replaceAll(word, REDACTED), text).replace(CARD_NUMBER, REDACTED);
    return (cvc ? shown.replace(cvc, REDACTED) : shown).slice(0, MAX_TEXT_LENGTH);
  };
}

interface Redactable {
  readonly codes?: ProviderCodes;
  readonly threeDS?: ThreeDSOutcome | undefined;
}

function cleanAll<T extends Redactable>(outcome: T, clean: Clean): T {
  const { codes, threeDS } = outcome;
  return {
    ...outcome,
    ...(codes && { codes: cleanCodes(codes, clean) }),
    ...(threeDS?.error && {
      threeDS: {
        ...threeDS,
        error: { code: clean(threeDS.error.code), description: clean(threeDS.error.description) },
      },
    }),
  };
}

function cleanCodes(codes: ProviderCodes, clean: Clean): ProviderCodes {
  const { rawCode, rawDescription, authResponseCode } = codes;
  return {
    ...codes,
    ...(rawCode !== undefined && { rawCode: clean(rawCode) }),
    ...(rawDescription !== undefined && { rawDescription: clean(rawDescription) }),
    ...(authResponseCode !== undefined && { authResponseCode: clean(authResponseCode) }),
  };
}

type Found = Awaited<ReturnType<Connector["lookUp"]>>;

function cleanFound(found: Found, clean: Clean): Found {
  if (found.kind === "unknown") return cleanAll(found, clean);
  if (found.kind !== "found") return found;
  const refunds = found.refunds?.map((refund) => ({ ...refund, outcome: cleanAll(refund.outcome, clean) }));
  const refusals = found.refusals?.map((refusal) => ({ ...refusal, outcome: cleanAll(refusal.outcome, clean) }));
  const state = cleanAll(found.state, clean);
  return { kind: "found", state, ...(refunds && { refunds }), ...(refusals && { refusals }) };
}

function cleanReading(reading: WebhookReading, clean: Clean): WebhookReading {
  if (reading.kind !== "verified") return reading;
  const events = reading.events.map((event) => {
    const { report } = event;
    switch (report.kind) {
      case "payment":
        return { ...event, report: { ...report, state: cleanAll(report.state, clean) } };
      case "changed":
        return event;
      default:
        return { ...event, report: { ...report, outcome: cleanAll(report.outcome, clean) } };
    }
  });
  return { ...reading, events };
}
