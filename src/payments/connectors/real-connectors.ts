import type { Connector } from "../connector.js";
import type { FormulaId } from "../formulas.js";
import { adyenConnector } from "./adyen/connector.js";
import { authorizenetConnector } from "./authorizenet/connector.js";
import { checkoutcomConnector } from "./checkoutcom/connector.js";
import { stripeConnector } from "./stripe/connector.js";

/** The external payment services. `addresses` replace their public ones. */
export function realConnectors(addresses: ReadonlyMap<FormulaId, string>): readonly Connector[] {
  return [
    stripeConnector(addresses.get("stripe-card")),
    adyenConnector(addresses.get("adyen-card")),
    checkoutcomConnector(addresses.get("checkoutcom-card")),
    authorizenetConnector(addresses.get("authorizenet-card")),
  ];
}
