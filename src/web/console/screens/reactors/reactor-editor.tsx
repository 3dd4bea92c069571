import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { type Reactor, ReactorService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useChange } from "../../api/queries.js";
import { useDraft } from "../../use-draft.js";
import { CodeEditor } from "../code/code-editor.js";
import { CodeForm, type CommonDraft, type Saving } from "../code/code-form.js";
import { configurationOf, configurationPatch } from "../code/configuration-lines.js";
import { useSaving } from "../code/use-saving.js";
import { ReactorTest } from "./reactor-test.js";

interface ReactorDraft extends CommonDraft {
  readonly code: string;
}

const FIRST_CODE = `module.exports = async function (req) {
  const { args } = req;
  return { raw: { received: args } };
};
`;

/** Edits a reactor, or a new one, and tries its code. Nothing is saved until its person says so. */
export function ReactorEditor({ reactor }: { reactor: Reactor | undefined }) {
  const [draft, set] = useDraft<ReactorDraft>({
    name: reactor?.name ?? "",
    code: reactor?.code ?? (reactor ? "" : FIRST_CODE),
    applicationId: reactor?.application?.id ?? "",
    configuration: "",
  });
  const saving = useReactorSaving(reactor, draft);
  if (reactor?.formula) {
    return <p className="note">This reactor runs the formula {reactor.formulaDetails?.name ?? reactor.formula.id}.</p>;
  }
  return (
    <>
      <CodeForm
        saving={saving}
        draft={draft}
        set={set}
        configured={Object.keys(reactor?.configuration ?? {})}
        action={reactor ? "Save" : "Create reactor"}
      >
        <CodeEditor label="Code" value={draft.code} onChange={set("code")} isReadOnly={!saving.canSave} />
      </CodeForm>
      <ReactorTest code={draft.code} configuration={configurationOf(draft.configuration)} />
    </>
  );
}

function useReactorSaving(reactor: Reactor | undefined, draft: ReactorDraft): Saving {
  const create = useChange(ReactorService.method.createReactor);
  const update = useChange(ReactorService.method.updateReactor);
  const client = createClient(ReactorService, useTransport());
  return useSaving({
    stored: reactor,
    draft,
    page: "/reactors",
    change: reactor ? update : create,
    read: (id) => client.getReactor({ id }),
    create: (onDone) =>
      create.run({ ...commonFields(draft), configuration: configurationOf(draft.configuration) }, onDone),
    update: ({ id }, onDone) => update.run({ id, ...changedFields(draft) }, onDone),
  });
}

function commonFields({ name, code, applicationId }: ReactorDraft) {
  return { name, code, ...(applicationId === "" ? {} : { application: { id: applicationId } }) };
}

function changedFields(draft: ReactorDraft) {
  const isConfigured = draft.configuration.trim() !== "";
  const paths = ["name", "code", "application", ...(isConfigured ? ["configuration"] : [])];
  return {
    ...commonFields(draft),
    updateMask: { paths },
    ...(isConfigured ? { configuration: configurationPatch(draft.configuration) } : {}),
  };
}
