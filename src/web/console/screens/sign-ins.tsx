import { Screen } from "../components/screen.js";
import { Passkeys } from "./passkeys.js";
import { SignInTable } from "./sign-in-table.js";
import { SwitchTenant } from "./switch-tenant.js";

/** One's own sign-ins, to end one in a browser that was lost or stolen. */
export default function SignIns() {
  return (
    <Screen title="Your sign-ins">
      <p className="quiet">End a sign-in that is not yours, and tell your administrators.</p>
      <SignInTable />
      <Passkeys />
      <SwitchTenant />
    </Screen>
  );
}
