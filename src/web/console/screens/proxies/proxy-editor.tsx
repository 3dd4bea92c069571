import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import type { FormEvent } from "react";
import { useLocation } from "wouter";
import {
  type Proxy as ProxyEntity,
  ProxyService,
  type ProxyTransform,
} from "../../../../../clients/typescript/src/proto/cloakroom/v1/proxies_pb.js";
import { useChange } from "../../api/queries.js";
import { TextField } from "../../components/field.js";
import { ProblemNote } from "../../components/problem-note.js";
import { CodeSample } from "../../components/text.js";
import { useDraft } from "../../use-draft.js";
import { ApplicationChoice } from "../code/application-choice.js";
import { CodeEditor } from "../code/code-editor.js";
import { ConfigurationField, configurationOf, configurationPatch } from "../code/configuration-field.js";
import { ConflictNote } from "../code/conflict-note.js";
import { useConflictCheck } from "../code/use-conflict-check.js";
import {
  draftOf,
  isEditable,
  type ProxyDraft,
  requestTransforms,
  responseTransforms,
  textOfTransforms,
  transformsOf,
} from "./proxy-draft.js";
import { ProxyTest } from "./proxy-test.js";

/** Edits a proxy, or a new one, and tries its transforms. Nothing is saved until its person says so. */
export function ProxyEditor({ proxy }: { proxy: ProxyEntity | undefined }) {
  const [draft, set] = useDraft(draftOf(proxy));
  const { save, canSave, isPending, problem, check } = useSave(proxy, draft);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    check.guard(save);
  };
  const code = (label: string, name: "requestCode" | "responseCode", stored: readonly ProxyTransform[]) =>
    isEditable(stored) ? (
      <CodeEditor label={label} value={draft[name]} onChange={set(name)} isReadOnly={!canSave} />
    ) : (
      <CodeSample label={`${label}, changed by the API only`} code={textOfTransforms(stored)} />
    );
  return (
    <>
      <form className="form wide" onSubmit={submit}>
        {problem && <ProblemNote key={problem.message} problem={problem} />}
        <ConflictNote check={check} save={save} />
        <TextField label="Name" value={draft.name} onChange={set("name")} isRequired />
        <TextField
          {...{ label: "Destination", value: draft.destinationUrl, onChange: set("destinationUrl"), isRequired: true }}
          placeholder="https://api.example.com/payments"
          problem={problem?.fields.get("destination_url")}
        />
        {code("Code for requests", "requestCode", requestTransforms(proxy))}
        {code("Code for responses", "responseCode", responseTransforms(proxy))}
        {canSave && (
          <>
            <ApplicationChoice value={draft.applicationId} onChange={set("applicationId")} />
            <ConfigurationField
              names={Object.keys(proxy?.configuration ?? {})}
              value={draft.configuration}
              onChange={set("configuration")}
            />
            <div className="actions">
              <button type="submit" className="primary" disabled={isPending}>
                {proxy ? "Save" : "Create proxy"}
              </button>
            </div>
          </>
        )}
      </form>
      <ProxyTest draft={draft} configuration={configurationOf(draft.configuration)} />
    </>
  );
}

function useSave(proxy: ProxyEntity | undefined, draft: ProxyDraft) {
  const [, navigate] = useLocation();
  const create = useChange(ProxyService.method.createProxy);
  const update = useChange(ProxyService.method.updateProxy);
  const client = createClient(ProxyService, useTransport());
  const change = proxy ? update : create;
  const save = () => {
    if (proxy) update.run(updateOf(proxy, draft));
    else create.run(creationOf(draft), ({ id }) => navigate(`/proxies?${new URLSearchParams({ id })}`));
  };
  const check = useConflictCheck(proxy, () => client.getProxy({ id: proxy?.id ?? "" }));
  return { save, check, canSave: change.isAllowed, isPending: change.isPending, problem: change.problem };
}

function commonOf({ name, destinationUrl, applicationId }: ProxyDraft) {
  return { name, destinationUrl, ...(applicationId === "" ? {} : { application: { id: applicationId } }) };
}

function creationOf(draft: ProxyDraft) {
  const requests = [...transformsOf(draft.requestCode)];
  const responses = [...transformsOf(draft.responseCode)];
  return {
    ...commonOf(draft),
    ...{ requestTransforms: requests, responseTransforms: responses },
    configuration: configurationOf(draft.configuration),
  };
}

/** Only what changed, because the console neither sees hidden values nor edits every kind of transform. */
function updateOf(proxy: ProxyEntity, draft: ProxyDraft) {
  const opened = draftOf(proxy);
  const isConfigured = draft.configuration.trim() !== "";
  const paths = [
    ...["name", "destination_url", "application"],
    ...(draft.requestCode === opened.requestCode ? [] : ["request_transforms"]),
    ...(draft.responseCode === opened.responseCode ? [] : ["response_transforms"]),
    ...(isConfigured ? ["configuration"] : []),
  ];
  return {
    ...{ id: proxy.id, ...commonOf(draft), updateMask: { paths } },
    ...(paths.includes("request_transforms") ? { requestTransforms: [...transformsOf(draft.requestCode)] } : {}),
    ...(paths.includes("response_transforms") ? { responseTransforms: [...transformsOf(draft.responseCode)] } : {}),
    ...(isConfigured ? { configuration: configurationPatch(draft.configuration) } : {}),
  };
}
