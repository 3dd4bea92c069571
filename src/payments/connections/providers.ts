import { adyenProvider } from "../connectors/adyen/provider.js";
import { authorizenetProvider } from "../connectors/authorizenet/provider.js";
import { checkoutcomProvider } from "../connectors/checkoutcom/provider.js";
import { stripeProvider } from "../connectors/stripe/provider.js";
import type { Connector } from "../contract/connector.js";
import { FORMULA_IDS, type Formula, type FormulaId } from "../contract/formula.js";
import type { Provider } from "../contract/provider.js";
import { simulatorProvider } from "../simulator/provider.js";

const PROVIDERS: Readonly<Record<FormulaId, Provider>> = {
  "simulator-card": simulatorProvider,
  "stripe-card": stripeProvider,
  "adyen-card": adyenProvider,
  "checkoutcom-card": checkoutcomProvider,
  "authorizenet-card": authorizenetProvider,
};

export function findProvider(id: FormulaId): Provider {
  return PROVIDERS[id];
}

/** In list order. */
export const FORMULAS: readonly Formula[] = FORMULA_IDS.map((id) => PROVIDERS[id].formula);

/** Finds a formula by its id or by its alias in an older sample. Undefined for any other text. */
export function findFormula(id: string): Formula | undefined {
  return FORMULAS.find((formula) => formula.id === id || formula.aliases?.includes(id));
}

/** The external payment services. `addresses` replace their public ones. */
export function realConnectors(addresses: ReadonlyMap<FormulaId, string>): readonly Connector[] {
  return FORMULA_IDS.flatMap((id) => PROVIDERS[id].connect?.(addresses.get(id)) ?? []);
}
