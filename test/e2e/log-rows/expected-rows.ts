/**
 * The log rows of one call of each method: one row for each entity, one for
 * a list or search and another for each token whose data it returned in the clear, and none for the log itself and for
 * permissions. Written by hand: a method without a line here fails the test.
 * A row is its operation, kind of entity and entity: `stored` existed before the call, `made` is in its response, `*`
 * is no single one. Rows are the calling application's own, except for those that end in `(server)`.
 */
export const EXPECTED_ROWS: Readonly<Record<string, readonly string[]>> = {
  CreateApplication: ["create application made", "create application_key made"],
  ListApplications: ["list application *"],
  GetApplication: ["read application stored"],
  GetApplicationByKey: ["read application stored"],
  UpdateApplication: ["update application stored"],
  // The call does not show the previous key.
  RegenerateApplicationKey: ["create application_key made", "delete application_key unseen"],
  DeleteApplication: ["delete application stored"],
  CreateApplicationKey: ["create application_key made"],
  ListApplicationKeys: ["list application_key *"],
  GetApplicationKey: ["read application_key stored"],
  DeleteApplicationKey: ["delete application_key stored"],
  ListPermissions: [],
  ExplainAccess: ["list application *"],

  CreateToken: ["create card made"],
  GetToken: ["read card stored"],
  UpdateToken: ["update token stored"],
  DeleteToken: ["delete card stored"],
  // One of the two tokens is masked for the caller: only the other one's data was returned in the clear.
  ListTokens: ["list token *", "read token stored"],
  SearchTokens: ["search token *", "read token stored"],
  ListTokensByCursor: ["list token *", "read token stored"],
  SearchTokensByCursor: ["search token *", "read token stored"],
  // The second row of the import has an error.
  ImportTokens: ["import token *", "create card made"],
  ExportTokenPage: ["export token *", "read token stored"],
  Tokenize: ["create bank made", "create token made", "create token made"],
  // Each of the two tokens is named twice.
  Detokenize: ["read card stored", "read token stored"],

  CreateProxy: ["create proxy made"],
  ListProxies: ["list proxy *"],
  GetProxy: ["read proxy stored"],
  ReplaceProxy: ["update proxy stored"],
  UpdateProxy: ["update proxy stored"],
  DeleteProxy: ["delete proxy stored"],
  TestProxy: ["test proxy *"],
  ListFailedProxyRuns: ["read proxy stored"],
  // Each of the two tokens is named twice.
  InvokeProxy: ["invoke proxy stored", "use card stored", "use token stored"],

  CreateWebhook: ["create webhook made"],
  ListWebhooks: ["list webhook *"],
  ListWebhookEventTypes: [],
  GetWebhook: ["read webhook stored"],
  ReplaceWebhook: ["update webhook stored"],
  DeleteWebhook: ["delete webhook stored"],
  RotateWebhookSecret: ["update webhook stored"],
  TestWebhook: ["test webhook stored"],
  ListWebhookDeliveries: ["read webhook stored"],
  GetWebhookDelivery: ["read webhook stored"],
  ReplayWebhookDelivery: ["replay webhook stored"],

  CreateReactor: ["create reactor made"],
  ListReactors: ["list reactor *"],
  GetReactor: ["read reactor stored"],
  ReplaceReactor: ["update reactor stored"],
  UpdateReactor: ["update reactor stored"],
  DeleteReactor: ["delete reactor stored"],
  TestReactor: ["test reactor *"],
  ListFailedReactorRuns: ["read reactor stored"],
  // What the code returns as `tokenize` is a token of the caller.
  React: ["create token made", "invoke reactor stored", "use card stored", "use token stored"],
  ReactAsync: ["complete reactor stored", "invoke reactor stored", "use card stored", "use token stored"],
  GetReactorResult: ["read reactor stored"],
  CreateReactorFormula: ["create reactor_formula made"],
  ListReactorFormulas: ["list reactor_formula *"],
  GetReactorFormula: ["read reactor_formula stored"],
  ReplaceReactorFormula: ["update reactor_formula stored"],
  DeleteReactorFormula: ["delete reactor_formula stored"],

  CreateSession: ["create session unseen"],
  AuthorizeSession: ["authorize session unseen"],
  ListSessions: ["list session *"],
  DeleteSession: ["delete session unseen"],

  GetTenant: ["read tenant stored"],
  UpdateTenant: ["update tenant stored"],
  DeleteTenant: ["delete tenant stored"],
  GetUsageReport: ["read report *"],
  GetActivity: [],
  GetHealth: ["read tenant stored"],
  ListMembers: ["list member *"],
  UpdateMember: ["update member stored"],
  DeleteMember: ["delete member stored"],
  GetOwner: ["read member stored"],
  ListRoles: ["list role *"],
  CreateInvitation: ["create invitation made"],
  ListInvitations: ["list invitation *"],
  GetInvitation: ["read invitation stored"],
  ResendInvitation: ["resend invitation stored"],
  DeleteInvitation: ["delete invitation stored"],

  ListLogs: [],
  ListLogEntityTypes: [],

  CreateConnection: ["create connection made"],
  ListConnections: ["list connection *"],
  GetConnection: ["read connection stored"],
  ReplaceConnection: ["update connection stored"],
  DeleteConnection: ["delete connection stored"],
  ListConnectionFormulas: ["list connection_formula *"],

  // The payment service's response updates a transaction in its own database transaction, with a row of the server's.
  CreateTransaction: ["create transaction made", "update transaction made (server)", "use card stored"],
  ListTransactions: ["list transaction *"],
  GetTransaction: ["read transaction stored"],
  CaptureTransaction: ["update transaction stored", "update transaction stored (server)"],
  VoidTransaction: ["update transaction stored", "update transaction stored (server)"],
  SyncTransaction: ["update transaction stored"],
  // A refund does not change the status of its transaction.
  CreateRefund: ["create refund made", "update refund made (server)", "update transaction stored"],
  ListRefunds: ["read transaction stored"],
  GetRefund: ["read transaction stored"],

  CreateThreeDSSession: ["create three_ds_session made", "use card stored"],
  GetThreeDSSession: ["read three_ds_session stored"],
  AuthenticateThreeDSSession: ["authorize three_ds_session stored", "use card stored"],
  GetThreeDSChallengeResult: ["read three_ds_session stored"],
};
