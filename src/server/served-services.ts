import type { DescService } from "@bufbuild/protobuf";
import {
  ApplicationKeyService,
  ApplicationService,
  PermissionService,
} from "../../gen/cloakroom/v1/applications_pb.js";
import { ConnectionService } from "../../gen/cloakroom/v1/connections_pb.js";
import { InvitationService } from "../../gen/cloakroom/v1/invitations_pb.js";
import { LogService } from "../../gen/cloakroom/v1/logs_pb.js";
import { MemberService } from "../../gen/cloakroom/v1/members_pb.js";
import { PasskeyService } from "../../gen/cloakroom/v1/passkeys_pb.js";
import { ProxyService } from "../../gen/cloakroom/v1/proxies_pb.js";
import { ReactorFormulaService, ReactorService } from "../../gen/cloakroom/v1/reactors_pb.js";
import { RevealService } from "../../gen/cloakroom/v1/reveals_pb.js";
import { ServerService } from "../../gen/cloakroom/v1/server_pb.js";
import { SessionService } from "../../gen/cloakroom/v1/sessions_pb.js";
import { SignInService } from "../../gen/cloakroom/v1/sign_ins_pb.js";
import { TenantService } from "../../gen/cloakroom/v1/tenants_pb.js";
import { ThreeDSService } from "../../gen/cloakroom/v1/threeds_pb.js";
import { TokenExportService } from "../../gen/cloakroom/v1/token_exports_pb.js";
import { TokenizeService, TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import { TransactionService } from "../../gen/cloakroom/v1/transactions_pb.js";
import { WebhookService } from "../../gen/cloakroom/v1/webhooks_pb.js";

/** Every service of the protos. A method that has no handler yet returns "unimplemented" over RPC. */
export const SERVICES: readonly DescService[] = [
  TokenService,
  TokenizeService,
  ApplicationService,
  ApplicationKeyService,
  PermissionService,
  TenantService,
  MemberService,
  InvitationService,
  SessionService,
  SignInService,
  PasskeyService,
  RevealService,
  LogService,
  ProxyService,
  ReactorService,
  ReactorFormulaService,
  ConnectionService,
  TransactionService,
  ThreeDSService,
  WebhookService,
  TokenExportService,
  ServerService,
];
