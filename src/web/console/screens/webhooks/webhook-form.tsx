import { WebhookService } from "#client/proto/cloakroom/v1/webhooks_pb.js";
import { useRead } from "../../api/queries.js";
import { type DraftFormProps, EntityForm } from "../../components/entity-form.js";
import { NameField, TextField } from "../../components/field.js";
import { FormActions } from "../../components/form-actions.js";
import { Loaded } from "../../components/loaded.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { useUnsaved } from "../../use-unsaved.js";

export interface WebhookDraft {
  readonly name: string;
  readonly url: string;
  readonly notifyEmail: string;
  readonly events: readonly string[];
}

/** The draft as requests have it. */
export function webhookRequest({ name, url, notifyEmail, events }: WebhookDraft) {
  const email = notifyEmail.trim();
  const properties = { name: name.trim(), url: url.trim(), events: [...events] };
  return email === "" ? properties : { ...properties, notifyEmail: email };
}

interface WebhookFormProps extends DraftFormProps<WebhookDraft> {
  readonly submitText: string;
}

const FIELDS = ["name", "url", "notify_email"];

export function WebhookForm({ initial, submitText, change, onSubmit, check, onCancel }: WebhookFormProps) {
  const [draft, set] = useDraft(initial);
  useUnsaved(draft);
  const { problem } = change;
  const field = bindFields(draft, set, problem);
  return (
    <EntityForm problem={problem} isShown={(name) => FIELDS.includes(name)} check={check} save={() => onSubmit(draft)}>
      <NameField {...field("name")} />
      <TextField
        label="Address"
        {...field("url")}
        isRequired
        placeholder="https://shop.example.com/events"
        help="https, by a host name. Redirects are not followed."
      />
      <TextField
        label="Mail to"
        {...field("notifyEmail")}
        type="email"
        help="Gets a message when the vault disables the webhook, after three days without a delivery."
      />
      <EventTypes chosen={draft.events} onChange={set("events")} />
      <FormActions
        submitText={submitText}
        isDisabled={change.isPending || draft.events.length === 0}
        onCancel={onCancel}
      />
    </EntityForm>
  );
}

interface EventTypesProps {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

/** The types of events, by what they are of, such as tokens. */
function EventTypes({ chosen, onChange }: EventTypesProps) {
  const types = useRead(WebhookService.method.listWebhookEventTypes, {});
  const toggle = (names: readonly string[], isOn: boolean) =>
    onChange(isOn ? [...new Set([...chosen, ...names])] : chosen.filter((name) => !names.includes(name)));
  return (
    <fieldset>
      <legend>Events, {chosen.length} chosen</legend>
      <Loaded read={types} lines={8}>
        {({ data }) =>
          [...new Set(data.map(eventGroup))].map((group) => (
            <EventGroup
              key={group}
              group={group}
              chosen={chosen}
              toggle={toggle}
              names={data.filter((name) => eventGroup(name) === group)}
            />
          ))
        }
      </Loaded>
    </fieldset>
  );
}

function eventGroup(type: string): string {
  return type.slice(0, type.indexOf("."));
}

interface EventGroupProps {
  readonly group: string;
  readonly names: readonly string[];
  readonly chosen: readonly string[];
  readonly toggle: (names: readonly string[], isOn: boolean) => void;
}

function EventGroup({ group, names, chosen, toggle }: EventGroupProps) {
  const isWhole = names.every((name) => chosen.includes(name));
  return (
    <div className="event-group">
      <label>
        <input type="checkbox" checked={isWhole} onChange={() => toggle(names, !isWhole)} />
        <strong>{group}</strong>
      </label>
      <div className="checks">
        {names.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={() => toggle([name], !chosen.includes(name))}
            />
            <code>{name}</code>
          </label>
        ))}
      </div>
    </div>
  );
}
