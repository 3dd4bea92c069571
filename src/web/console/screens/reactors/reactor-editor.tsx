import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useLocation } from "wouter";
import { type Reactor, ReactorService } from "../../../../../clients/typescript/src/proto/cloakroom/v1/reactors_pb.js";
import { useChange } from "../../api/queries.js";
import { leaveGuard } from "../../leave-guard.js";
import { useSession } from "../../session.js";
import { useConflictCheck } from "../../use-conflict-check.js";
import { useDraft } from "../../use-draft.js";
import { useUnsaved } from "../../use-unsaved.js";
import { CodeEditor } from "../code/code-editor.js";
import { CodeForm, type CommonDraft, type Saving } from "../code/code-form.js";
import { configurationOf, configurationPatch } from "../code/configuration-field.js";
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
    ...{ name: reactor?.name ?? "", code: reactor?.code ?? (reactor ? "" : FIRST_CODE) },
    ...{ applicationId: reactor?.application?.id ?? "", configuration: "" },
  });
  const saving = useSave(reactor, draft);
  if (reactor?.formula) {
    return <p className="note">This reactor runs the formula {reactor.formulaDetails?.name ?? reactor.formula.id}.</p>;
  }
  return (
    <>
      <CodeForm
        {...{ saving, draft, set, configured: Object.keys(reactor?.configuration ?? {}) }}
        action={reactor ? "Save" : "Create reactor"}
      >
        <CodeEditor label="Code" value={draft.code} onChange={set("code")} isReadOnly={!saving.canSave} />
      </CodeForm>
      <ReactorTest code={draft.code} configuration={configurationOf(draft.configuration)} />
    </>
  );
}

function useSave(reactor: Reactor | undefined, draft: ReactorDraft): Saving {
  const { name, code, applicationId, configuration } = draft;
  const [, navigate] = useLocation();
  const { mayChange } = useSession();
  const create = useChange(ReactorService.method.createReactor);
  const update = useChange(ReactorService.method.updateReactor);
  const client = createClient(ReactorService, useTransport());
  const change = reactor ? update : create;
  const canSave = change.isAllowed && (reactor === undefined || mayChange(reactor.createdBy));
  const application = applicationId === "" ? {} : { application: { id: applicationId } };
  const onSaved = useUnsaved(draft);
  const check = useConflictCheck(reactor, () => client.getReactor({ id: reactor?.id ?? "" }));
  const save = () => {
    if (!reactor) {
      create.run({ name, code, ...application, configuration: configurationOf(configuration) }, ({ id }) => {
        leaveGuard.release();
        navigate(`/reactors?${new URLSearchParams({ id })}`);
      });
      return;
    }
    const isConfigured = configuration.trim() !== "";
    const paths = ["name", "code", "application", ...(isConfigured ? ["configuration"] : [])];
    const change = {
      ...{ id: reactor.id, name, code, ...application, updateMask: { paths } },
      ...(isConfigured ? { configuration: configurationPatch(configuration) } : {}),
    };
    update.run(change, () => {
      check.noteSaved();
      onSaved();
    });
  };
  return { save, check, canSave, isPending: change.isPending, problem: change.problem };
}
