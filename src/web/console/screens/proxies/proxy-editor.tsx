import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { type Proxy as ProxyEntity, ProxyService, type ProxyTransform } from "#client/proto/cloakroom/v1/proxies_pb.js";
import { useChange } from "../../api/queries.js";
import { TextField } from "../../components/field.js";
import { CodeSample } from "../../components/text.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { CodeEditor } from "../code/code-editor.js";
import { CodeForm, type Saving } from "../code/code-form.js";
import { configurationPatch, readConfiguration } from "../code/configuration-lines.js";
import { useSaving } from "../code/use-saving.js";
import {
  codeTransforms,
  isEditable,
  openProxyDraft,
  type ProxyDraft,
  requestTransforms,
  responseTransforms,
  textOfTransforms,
} from "./proxy-draft.js";
import { ProxyTest } from "./proxy-test.js";

/** Edits a proxy, or a new one, and tries its transforms. Nothing is saved until its person says so. */
export function ProxyEditor({ proxy }: { proxy: ProxyEntity | undefined }) {
  const [draft, set] = useDraft(openProxyDraft(proxy));
  const saving = useProxySaving(proxy, draft);
  const field = bindFields(draft, set, saving.problem);
  const code = (label: string, name: "requestCode" | "responseCode", stored: readonly ProxyTransform[]) =>
    isEditable(stored) ? (
      <CodeEditor label={label} {...field(name)} isReadOnly={!saving.canSave} />
    ) : (
      <CodeSample label={`${label}, changed by the API only`} code={textOfTransforms(stored)} />
    );
  return (
    <>
      <CodeForm
        saving={saving}
        field={field}
        configured={Object.keys(proxy?.configuration ?? {})}
        action={proxy ? "Save" : "Create proxy"}
      >
        <TextField
          label="Destination"
          {...field("destinationUrl")}
          isRequired
          placeholder="https://api.example.com/payments"
        />
        {code("Code for requests", "requestCode", requestTransforms(proxy))}
        {code("Code for responses", "responseCode", responseTransforms(proxy))}
      </CodeForm>
      <ProxyTest draft={draft} configuration={readConfiguration(draft.configuration)} />
    </>
  );
}

function useProxySaving(proxy: ProxyEntity | undefined, draft: ProxyDraft): Saving {
  const create = useChange(ProxyService.method.createProxy);
  const update = useChange(ProxyService.method.updateProxy);
  const client = createClient(ProxyService, useTransport());
  return useSaving({
    stored: proxy,
    draft,
    page: "/proxies",
    change: proxy ? update : create,
    read: (id) => client.getProxy({ id }),
    create: (onDone) => create.run(creationFields(draft), onDone),
    update: (stored, onDone) => update.run(changedFields(stored, draft), onDone),
  });
}

function commonFields({ name, destinationUrl, applicationId }: ProxyDraft) {
  return { name, destinationUrl, ...(applicationId === "" ? {} : { application: { id: applicationId } }) };
}

function creationFields(draft: ProxyDraft) {
  const requests = [...codeTransforms(draft.requestCode)];
  const responses = [...codeTransforms(draft.responseCode)];
  return {
    ...commonFields(draft),
    requestTransforms: requests,
    responseTransforms: responses,
    configuration: readConfiguration(draft.configuration),
  };
}

/** Only what changed, because the console neither sees hidden values nor edits every kind of transform. */
function changedFields(proxy: ProxyEntity, draft: ProxyDraft) {
  const opened = openProxyDraft(proxy);
  const isConfigured = draft.configuration.trim() !== "";
  const paths = [
    ...["name", "destination_url", "application"],
    ...(draft.requestCode === opened.requestCode ? [] : ["request_transforms"]),
    ...(draft.responseCode === opened.responseCode ? [] : ["response_transforms"]),
    ...(isConfigured ? ["configuration"] : []),
  ];
  return {
    id: proxy.id,
    ...commonFields(draft),
    updateMask: { paths },
    ...(paths.includes("request_transforms") ? { requestTransforms: [...codeTransforms(draft.requestCode)] } : {}),
    ...(paths.includes("response_transforms") ? { responseTransforms: [...codeTransforms(draft.responseCode)] } : {}),
    ...(isConfigured ? { configuration: configurationPatch(draft.configuration) } : {}),
  };
}
