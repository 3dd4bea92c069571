import { type FormEvent, useState } from "react";
import { type Tenant, TenantService } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { useChange, useRead } from "../api/queries.js";
import { TextField } from "../components/field.js";
import { Loaded } from "../components/loaded.js";
import { ProblemNote } from "../components/problem-note.js";
import { Screen } from "../components/screen.js";
import { DetailList } from "../components/table.js";
import { useDraft } from "../use-draft.js";

/** Switching it off needs a reason itself. */
const ASKS_FOR_REASON = "require_reveal_reason";

const SETTINGS: Readonly<Record<string, string>> = {
  fingerprint_tokens: "New tokens get a fingerprint, by which equal values are found",
  deduplicate_tokens: "Storing a value again returns its first token",
  disable_ephemeral_proxy: "Proxies that are described in the request itself are refused",
  [ASKS_FOR_REASON]: "Reading a value in the clear needs a reason",
  record_log_reads: "Reading the log leaves a row in it",
  reveal_to_people: "OWNER and ADMIN may see values in the clear here, with a second factor and a reason",
  require_export_approval: "Exporting tokens with their data needs two people; only an operator switches it off",
};

export default function Settings() {
  const tenant = useRead(TenantService.method.getTenant, {});
  return (
    <Screen title="Settings">
      <Loaded read={tenant}>{(found) => <TenantSettings key={found.name} tenant={found} />}</Loaded>
    </Screen>
  );
}

function TenantSettings({ tenant }: { tenant: Tenant }) {
  const update = useChange(TenantService.method.updateTenant);
  const [draft, set] = useDraft({ name: tenant.name, settings: tenant.settings });
  const [reason, setReason] = useState("");
  const needsReason = tenant.settings[ASKS_FOR_REASON] === "true" && draft.settings[ASKS_FOR_REASON] !== "true";
  if (!update.isAllowed) return <ReadSettings tenant={tenant} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const settings = Object.entries(draft.settings).filter(([name]) => name in SETTINGS);
    const input = { name: draft.name.trim(), settings: Object.fromEntries(settings) };
    update.run(input, () => setReason(""), needsReason ? reason : undefined);
  };
  const toggle = (name: string) => {
    const value = draft.settings[name] === "true" ? "false" : "true";
    set("settings")({ ...draft.settings, [name]: value });
  };
  return (
    <form className="form" onSubmit={submit}>
      {update.problem && <ProblemNote problem={update.problem} />}
      <TextField label="Name" value={draft.name} onChange={set("name")} isRequired />
      <fieldset>
        <legend>Tokens and proxies</legend>
        {Object.entries(SETTINGS).map(([name, text]) => (
          <div key={name} className="checks">
            <label>
              <input type="checkbox" checked={draft.settings[name] === "true"} onChange={() => toggle(name)} />
              {text}
            </label>
          </div>
        ))}
      </fieldset>
      {needsReason && (
        <TextField
          label="Reason"
          value={reason}
          onChange={setReason}
          isRequired
          help="Why values may be read without a reason from now on. The log keeps it with your name."
        />
      )}
      <div className="actions">
        <button type="submit" className="primary" disabled={update.isPending}>
          Save
        </button>
        <SavedNote isPending={update.isPending} isSaved={isSame(tenant, draft)} />
      </div>
    </form>
  );
}

function ReadSettings({ tenant: { name, settings } }: { tenant: Tenant }) {
  return (
    <>
      <p className="note">Your role reads the settings. An OWNER or ADMIN can change them.</p>
      <DetailList
        pairs={[
          ["Name", name],
          ...Object.entries(SETTINGS).map(([key, text]) => [text, settings[key] === "true" ? "yes" : "no"] as const),
        ]}
      />
    </>
  );
}

function isSame(tenant: Tenant, draft: Pick<Tenant, "name" | "settings">): boolean {
  const names = Object.keys(SETTINGS);
  return tenant.name === draft.name && names.every((name) => tenant.settings[name] === draft.settings[name]);
}

function SavedNote({ isPending, isSaved }: { isPending: boolean; isSaved: boolean }) {
  const text = isPending ? "Saving" : isSaved ? "Saved" : "Not saved yet";
  return (
    <span role="status" className="quiet">
      {text}
    </span>
  );
}
