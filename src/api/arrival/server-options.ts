import type { DescService } from "@bufbuild/protobuf";
import type { FastifyInstance } from "fastify";
import type { MemoryBudget } from "../../memory/memory-budget.js";
import type { Meters } from "../../telemetry/meters.js";
import type { RateGate } from "../admission/rate-gate.js";
import type { Visits } from "../browser/visits.js";
import type { ReadAddress, ReadClient } from "../connection/client-address.js";
import type { ServerCertificate } from "../connection/server-certificate.js";
import type { Readiness } from "../health/health.js";
import type { OperatorLog } from "../observation/operator-log.js";
import type { Pipeline } from "../pipeline/pipeline.js";
import type { StreamPipeline } from "../pipeline/stream-pipeline.js";
import type { InvokeProxy } from "../proxy/proxy-route.js";
import type { OverloadCheck } from "./load-shedder.js";
import type { TurnGate } from "./turn-gate.js";

export interface ServerOptions {
  /** Every service of the API, including partly implemented ones. */
  readonly services: readonly DescService[];
  readonly pipelines: readonly Pipeline[];
  readonly streams: readonly StreamPipeline[];
  readonly invokeProxy: InvokeProxy;
  readonly readiness: Readiness;
  readonly log: OperatorLog;
  readonly corsOrigins: readonly string[];
  readonly bodyLimit: number;
  readonly memory: MemoryBudget;
  readonly readClient: ReadClient;
  /** The network of a client: see {@link networkReader}. */
  readonly readNetwork: ReadClient;
  readonly isProxy: (address: string) => boolean;
  readonly turnGate: TurnGate;
  /** The client's address as log rows have it. */
  readonly readAddress: ReadAddress;
  readonly visits: Visits;
  readonly overload: OverloadCheck;
  readonly rateGate: RateGate;
  readonly meters: Meters;
  readonly rpcFastPath: boolean;
  /** Absent: clear text. */
  readonly tls: ServerCertificate | undefined;
  /** Routes that belong to no method: documentation pages, the raw proxy. */
  readonly extend?: (app: FastifyInstance) => void | Promise<void>;
}
