import { useId, useState } from "react";
import { type Tenant, TenantService } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { useChange, useRead } from "../api/queries.js";
import { TextField } from "../components/field.js";
import { Form } from "../components/form.js";
import { Loaded } from "../components/loaded.js";
import { ProblemNote } from "../components/problem-note.js";
import { Screen } from "../components/screen.js";
import { DetailList } from "../components/table.js";
import { useDraft } from "../use-draft.js";

/** Switching it off needs a reason itself. */
const ASKS_FOR_REASON = "require_reveal_reason";

interface Setting {
  readonly text: string;
  /** What it does to requests and to the log. */
  readonly help: string;
}

const GROUPS: Readonly<Record<string, Readonly<Record<string, Setting>>>> = {
  "Values in the clear": {
    [ASKS_FOR_REASON]: {
      text: "Reading a value in the clear needs a reason",
      help: "Requests without one are refused. The row of each read has the reason.",
    },
    reveal_to_people: {
      text: "OWNER and ADMIN may see values in the clear here, with a second factor and a reason",
      help: "Each leaves a row with the person and the reason. Off: people see masked values only.",
    },
    require_export_approval: {
      text: "Exporting tokens with their data needs two people; only an operator switches it off",
      help: "The log has who asked, who approved, and each token that left.",
    },
  },
  "New tokens": {
    fingerprint_tokens: {
      text: "New tokens get a fingerprint, by which equal values are found",
      help: "Whoever reads two tokens learns whether their values are equal.",
    },
    deduplicate_tokens: {
      text: "Storing a value again returns its first token",
      help: "The log then says that it was deduplicated.",
    },
  },
  "Calls and the log": {
    disable_ephemeral_proxy: {
      text: "Proxies that are described in the request itself are refused",
      help: "Values then leave to the destinations of saved proxies alone.",
    },
    record_log_reads: {
      text: "Reading the log leaves a row in it",
      help: "Shows who looked at whom. Each page that a person opens of the log is one row.",
    },
  },
};
const SETTINGS = Object.fromEntries(Object.values(GROUPS).flatMap((settings) => Object.entries(settings)));

export default function Settings() {
  const tenant = useRead(TenantService.method.getTenant, {});
  const saved = useState(false);
  return (
    <Screen title="Settings">
      <Loaded read={tenant}>{(found) => <TenantSettings key={found.name} tenant={found} saved={saved} />}</Loaded>
    </Screen>
  );
}

interface TenantSettingsProps {
  readonly tenant: Tenant;
  /** Whether anything was saved here, also under another name of the tenant. */
  readonly saved: readonly [boolean, (wasSaved: boolean) => void];
}

function TenantSettings({ tenant, saved: [wasSaved, setWasSaved] }: TenantSettingsProps) {
  const update = useChange(TenantService.method.updateTenant);
  const [draft, set] = useDraft({ name: tenant.name, settings: tenant.settings });
  const [reason, setReason] = useState("");
  const needsReason = tenant.settings[ASKS_FOR_REASON] === "true" && draft.settings[ASKS_FOR_REASON] !== "true";
  if (!update.isAllowed) return <ReadSettings tenant={tenant} />;
  const submit = () => {
    const settings = Object.entries(draft.settings).filter(([name]) => name in SETTINGS);
    const input = { name: draft.name.trim(), settings: Object.fromEntries(settings) };
    const onSaved = () => {
      setReason("");
      setWasSaved(true);
    };
    update.run(input, onSaved, needsReason ? reason : undefined);
  };
  const toggle = (name: string) => {
    const value = draft.settings[name] === "true" ? "false" : "true";
    set("settings")({ ...draft.settings, [name]: value });
  };
  return (
    <Form className="form" onSubmit={submit}>
      {update.problem && <ProblemNote problem={update.problem} />}
      <TextField label="Name" value={draft.name} onChange={set("name")} isRequired />
      {Object.entries(GROUPS).map(([group, settings]) => (
        <fieldset key={group}>
          <legend>{group}</legend>
          {Object.entries(settings).map(([name, setting]) => (
            <Switch key={name} setting={setting} isOn={draft.settings[name] === "true"} onToggle={() => toggle(name)} />
          ))}
        </fieldset>
      ))}
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
        <SavedNote isPending={update.isPending} isSaved={isSame(tenant, draft)} wasSaved={wasSaved} />
      </div>
    </Form>
  );
}

interface SwitchProps {
  readonly setting: Setting;
  readonly isOn: boolean;
  readonly onToggle: () => void;
}

function Switch({ setting: { text, help }, isOn, onToggle }: SwitchProps) {
  const id = useId();
  return (
    <div className="switch">
      <input id={id} type="checkbox" checked={isOn} aria-describedby={`${id}-help`} onChange={onToggle} />
      <label htmlFor={id}>{text}</label>
      <p id={`${id}-help`} className="help">
        {help}
      </p>
    </div>
  );
}

function ReadSettings({ tenant: { name, settings } }: { tenant: Tenant }) {
  return (
    <>
      <p className="note">Your role reads the settings. An OWNER or ADMIN can change them.</p>
      <DetailList
        pairs={[
          ["Name", name],
          ...Object.entries(SETTINGS).map(
            ([key, { text }]) => [text, settings[key] === "true" ? "yes" : "no"] as const,
          ),
        ]}
      />
    </>
  );
}

function isSame(tenant: Tenant, draft: Pick<Tenant, "name" | "settings">): boolean {
  const names = Object.keys(SETTINGS);
  return tenant.name === draft.name && names.every((name) => tenant.settings[name] === draft.settings[name]);
}

interface SavedNoteProps {
  readonly isPending: boolean;
  readonly isSaved: boolean;
  readonly wasSaved: boolean;
}

function SavedNote({ isPending, isSaved, wasSaved }: SavedNoteProps) {
  const text = isPending ? "Saving" : !isSaved ? "Not saved yet" : wasSaved ? "Saved" : "";
  return (
    <span role="status" className="quiet">
      {text}
    </span>
  );
}
