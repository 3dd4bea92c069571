import { causeFields, tenantFailure } from "../api/observation/log-cause.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import { monthName } from "../audit/chain/log-months.js";
import type { SealParts } from "../audit/chain/seal-log.js";
import { type Clock, systemClock } from "../base/clock.js";
import { keyRotationsJob } from "../jobs/key-rotations.js";
import { logDeliveryJob } from "../jobs/log-delivery.js";
import { logMonthsJob } from "../jobs/log-months.js";
import { logSealsJob } from "../jobs/log-seals.js";
import { logStampsJob } from "../jobs/log-stamps.js";
import { mailJob } from "../jobs/mail.js";
import type { Job } from "../jobs/schedule.js";
import { sweepJobs } from "../jobs/sweep.js";
import { tenantRemovalJob } from "../jobs/tenant-removal.js";
import { tenantWorkJob } from "../jobs/tenant-work.js";
import { unlessClockIsAhead } from "../jobs/unless-clock-is-ahead.js";
import type { MailTransport } from "../mail/transport.js";
import { writeSignInMessage } from "../people/sign-in-message.js";
import { writeWaitingPasskeyMessage } from "../people/waiting-passkey-message.js";
import type { Config } from "../settings/config.js";
import type { LogSink } from "../sinks/sink.js";
import { hasRunsDue } from "../store/functions/reactor-runs.js";
import { hasDeliveriesDue } from "../store/jobs/webhook-deliveries.js";
import type { Meters } from "../telemetry/meters.js";
import { Outbox } from "../tenancy/outbox.js";
import type { Vault } from "../vault/vault.js";
import { writeDisabledWebhookMessage } from "../webhooks/disabled-message.js";
import type { Composition } from "./composition.js";
import { configuredArchiving } from "./log-archiving.js";
import { TAMPERED } from "./log-sealing.js";
import { timeStampAuthority } from "./time-stamp-authority.js";

export interface BackgroundParts {
  readonly vault: Vault;
  readonly config: Config;
  readonly clock: Clock;
  readonly log: OperatorLog;
  readonly meters: Meters;
  readonly sealing: SealParts;
  readonly sinks: readonly LogSink[];
  readonly parts: Pick<Composition, "runs" | "deliveries" | "payments">;
}

/** All work of a server that no request starts, except mail: see {@link mailDelivery}. */
export function backgroundJobs(background: BackgroundParts): readonly Job[] {
  const { parts } = background;
  return [
    ...sweeps(background),
    logSeals(background),
    logMonths(background),
    ...logSinks(background),
    ...logStamps(background),
    tenantRemoval(background),
    reactorRuns(background),
    webhookDeliveries(background),
    keyRotations(background),
    ...parts.payments.jobs,
  ];
}

/** @param publicUrl where links in the messages lead. */
export function mailDelivery(
  { vault, clock, log }: Pick<BackgroundParts, "vault" | "clock" | "log">,
  transport: MailTransport,
  publicUrl: string,
): Job {
  const { database, tenants } = vault;
  return mailJob({
    database,
    outbox: new Outbox({
      database,
      tenants,
      transport,
      publicUrl,
      writeSignIn: (tenantId, requestId) => writeSignInMessage({ tenants, publicUrl }, tenantId, requestId),
      writeWaitingPasskey: (tenantId, passkeyId) =>
        writeWaitingPasskeyMessage({ tenants, publicUrl }, tenantId, passkeyId),
      writeDisabledWebhook: (tenantId, webhookId) => writeDisabledWebhookMessage(tenants, tenantId, webhookId),
    }),
    clock,
    onTrouble: (tenantId, reason, error) =>
      log.warn(
        {
          job: "mail",
          reason,
          ...(tenantId ? { tenant_id: tenantId } : {}),
          ...(error === undefined ? {} : causeFields(error)),
        },
        "messages were not sent",
      ),
  });
}

function sweeps({ vault: { database, tenants }, clock, log }: BackgroundParts): readonly Job[] {
  const onAhead = ({ name }: Job) =>
    log.error({ reason: name }, "this server's clock is ahead of the database's; expiry jobs are paused here");
  return sweepJobs({
    database,
    tenants,
    clock,
    onFailure: tenantFailure(log, "sweep", "a sweep of this tenant failed and will be tried again"),
    // Tests pass a clock that differs on purpose.
    ...(clock === systemClock
      ? { unlessClockIsAhead: (job: Job) => unlessClockIsAhead(database, clock, job, onAhead) }
      : {}),
  });
}

function logSeals({ config, clock, log, meters, sealing }: BackgroundParts): Job {
  return logSealsJob({
    ...sealing,
    clock,
    retentionDays: config.auditRetentionDays,
    archiving: configuredArchiving(config),
    onFailure: tenantFailure(log, "log seals", "the log of this tenant could not be sealed; this will be tried again"),
    onBroken: (tenantId, outcome) => {
      meters.auditIncident(outcome);
      log.error({ tenant_id: tenantId }, TAMPERED[outcome]);
    },
  });
}

function logMonths({ vault, config, clock, log, meters, sealing }: BackgroundParts): Job {
  const { address, ownerAddress } = vault;
  return logMonthsJob({
    ...sealing,
    address,
    ownerAddress,
    clock,
    retentionDays: config.auditRetentionDays,
    archiving: configuredArchiving(config),
    onLag: (seconds) => meters.monthLag(seconds),
    onArchive(problem) {
      if (problem === undefined) return log.info({ job: "log months" }, "log archive working again");
      meters.auditIncident("archive_failed");
      log.error({ job: "log months", reason: problem }, "log archive failing; months stay and will be archived later");
    },
    onFailure: tenantFailure(log, "log months", "a month of this tenant could not be archived, and stays"),
    onBlocked: ({ month, tenants }) =>
      log.warn(
        { reason: `${monthName(month)} of ${tenants.length} tenants, the first ${tenants[0]}` },
        "a month of the log is past its retention and stays: its rows are not sealed, not in every sink, not archived, or freed in the next days",
      ),
    onStuck: ({ month, reason }, step) =>
      log.warn(
        { reason: `${monthName(month)}: ${reason}` },
        `a month of the log could not be ${step}; this will be tried again`,
      ),
  });
}

function logSinks({ vault: { database }, clock, log, meters, sinks }: BackgroundParts): readonly Job[] {
  return sinks.map((sink) =>
    logDeliveryJob({
      database,
      clock,
      sink,
      onLag: (name, seconds) => meters.sinkLag(name, seconds),
      onState(name, problem) {
        if (problem === undefined) return log.info({ job: `log sink ${name}` }, "log sink working again");
        meters.auditIncident("sink_failed");
        log.error(
          { job: `log sink ${name}`, reason: problem },
          "log sink failing; rows are queued and will be retried",
        );
      },
      onFailure: tenantFailure(
        log,
        "log sinks",
        "the log of this tenant could not be sent on; this will be tried again",
      ),
    }),
  );
}

function logStamps({ vault: { database }, config, clock, log, meters }: BackgroundParts): readonly Job[] {
  if (!config.timeStamps) return [];
  const job = logStampsJob({
    database,
    clock,
    authority: timeStampAuthority(config.timeStamps, clock),
    onLag: (seconds) => meters.stampLag(seconds),
    onState(problem) {
      if (problem === undefined) return log.info({ job: "log stamps" }, "time-stamp authority working again");
      meters.auditIncident("stamp_failed");
      log.error({ job: "log stamps", reason: problem }, "time-stamp authority failing; stamping will be retried");
    },
    onFailure: tenantFailure(log, "log stamps", "a proof of this tenant was not stored; this will be tried again"),
  });
  return [job];
}

function tenantRemoval({ vault: { database, keyring }, clock, log }: BackgroundParts): Job {
  return tenantRemovalJob({
    database,
    keyring,
    clock,
    onFailure: tenantFailure(
      log,
      "tenant removal",
      "rows of a deleted tenant could not be removed; this will be tried again",
    ),
  });
}

function reactorRuns({ vault: { database }, clock, log, parts }: BackgroundParts): Job {
  return tenantWorkJob({
    name: "reactor runs",
    kind: "reactor_run",
    database,
    clock,
    isPending: hasRunsDue,
    wake: (tenantId) => parts.runs.wake(tenantId),
    onFailure: tenantFailure(
      log,
      "reactor runs",
      "a finished minute of due reactor runs was not deleted; this is tried again",
    ),
  });
}

function webhookDeliveries({ vault: { database }, clock, log, parts }: BackgroundParts): Job {
  return tenantWorkJob({
    name: "webhook deliveries",
    kind: "webhook_delivery",
    database,
    clock,
    isPending: hasDeliveriesDue,
    wake: (tenantId) => parts.deliveries.wake(tenantId),
    onFailure: tenantFailure(
      log,
      "webhook deliveries",
      "a finished minute of due webhook deliveries was not deleted; this is tried again",
    ),
  });
}

function keyRotations({ vault: { database, keyring }, clock, log }: BackgroundParts): Job {
  return keyRotationsJob({
    database,
    keyring,
    clock,
    onFailure: tenantFailure(log, "key rotations", "key rotation failed; this will be tried again"),
    onBroken: (tenantId, { count }) =>
      log.error(
        { tenant_id: tenantId, reason: `${count} rows do not open` },
        "a tenant's replaced keys are kept. Run: cloakroom keys rotate --tenant, which names the rows",
      ),
  });
}
