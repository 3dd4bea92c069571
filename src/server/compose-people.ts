import { createVisits } from "../api/browser/visits.js";
import { networkReader, peerReader } from "../api/connection/client-address.js";
import type { RefusedCredential } from "../audit/refused-credentials.js";
import type { Clock } from "../base/clock.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { DeviceSignIn } from "../people/device-sign-in.js";
import { Issuer } from "../people/issuer.js";
import { OpenIdSignIn } from "../people/openid-sign-in.js";
import { PersonAuthenticator } from "../people/person-authenticator.js";
import { SoleTenant } from "../people/sole-tenant.js";
import type { SignInLimits } from "../rate-limits/sign-in-limits.js";
import { passkeyService } from "../services/passkeys.js";
import { signInService } from "../services/sign-ins.js";
import type { Config } from "../settings/config.js";
import type { Vault } from "../vault/vault.js";
import { SERVICES } from "./served-services.js";

interface PeopleParts {
  readonly vault: Vault;
  readonly config: Config;
  readonly clock: Clock;
  readonly agents: GuardedAgents;
  readonly limits: SignInLimits;
  readonly onRefused: (refused: RefusedCredential) => void;
  /** The address at which people reach the server, once it is known. */
  address(): string;
}

export function composePeople(parts: PeopleParts) {
  const { vault, config, clock, agents, limits, onRefused, address } = parts;
  const { database, keyring, tenants, ownerAddress } = vault;
  const { trustedProxies, signInIdleMs: idleMs } = config;
  const issuer = config.openId && new Issuer(config.openId, agents);
  const openId = issuer && new OpenIdSignIn({ tenants, limits, onRefused, issuer, address });
  const device = issuer && new DeviceSignIn({ tenants, limits, onRefused, issuer });
  return {
    authenticator: new PersonAuthenticator(database, keyring, clock, idleMs),
    visits: createVisits({
      address,
      readAddress: peerReader(trustedProxies),
      readNetwork: networkReader(trustedProxies),
    }),
    methods: [
      ...signInService({
        tenants,
        limits,
        onRefused,
        openId,
        device,
        idleMs,
        mailIsFiled: config.smtpUrl === undefined,
        services: SERVICES,
        soleTenant: new SoleTenant(ownerAddress),
      }),
      ...passkeyService({ tenants, limits, idleMs, services: SERVICES, address }),
    ],
    /** Absent: the operator has configured no issuer. */
    openId,
  };
}
