import { resetPasskeys } from "../people/passkey.js";
import { addressForPeople } from "../people/relying-party.js";
import { createOperatorLink, memberWithAddress } from "../people/sign-in-link.js";
import { SIGN_IN_PATH } from "../people/sign-in-message.js";
import { parseEmailAddress } from "../tenancy/email-address.js";
import { chosenTenants } from "./chosen-tenants.js";
import { openForCommand } from "./open-for-command.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

export async function membersSignInLink({ config, options, say, printResult }: CommandInput): Promise<void> {
  const email = parseEmailAddress(requiredText(options, "email"));
  if (!email) throw new UsageError("--email must be an e-mail address.");
  await using vault = await openForCommand({ config, say });
  const [tenantId, ...others] = await chosenTenants(vault, options);
  if (!tenantId) throw new UsageError("There is no tenant. Run: cloakroom tenants create");
  if (others.length > 0) throw new UsageError("--tenant is missing: there are several. Run: cloakroom tenants list");
  const tenant = await vault.tenants.of(tenantId);
  const member = await tenant.ordinary((tx) => memberWithAddress(tx, email));
  if (!member) throw new UsageError("--email must be the address of a member of this tenant.");
  if (options["reset-passkeys"] === true) await tenant.ordinary((tx) => resetPasskeys(tx, member.id));
  const link = await createOperatorLink(vault, tenantId, member.id);
  const url = config.publicUrl ?? `http://${config.host}:${config.port}`;
  printResult({ link: `${addressForPeople(url)}${SIGN_IN_PATH}#${link.reveal()}` });
}
