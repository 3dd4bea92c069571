import type { ConnectorContext } from "../contract/connector.js";

export class ConnectionRequests {
  protected readonly address: string;
  protected readonly context: ConnectorContext;

  constructor(address: string, context: ConnectorContext) {
    this.address = address;
    this.context = context;
  }
}
