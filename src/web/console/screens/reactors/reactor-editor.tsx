import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import type { FormEvent } from "react";
import { useLocation } from "wouter";
import { type Reactor, ReactorService } from "../../../../../clients/typescript/src/proto/cloakroom/v1/reactors_pb.js";
import { useChange } from "../../api/queries.js";
import { TextField } from "../../components/field.js";
import { ProblemNote } from "../../components/problem-note.js";
import { useDraft } from "../../use-draft.js";
import { ApplicationChoice } from "../code/application-choice.js";
import { CodeEditor } from "../code/code-editor.js";
import { ConfigurationField, configurationOf, configurationPatch } from "../code/configuration-field.js";
import { ConflictNote } from "../code/conflict-note.js";
import { useConflictCheck } from "../code/use-conflict-check.js";
import { ReactorTest } from "./reactor-test.js";

interface ReactorDraft {
  readonly name: string;
  readonly code: string;
  readonly applicationId: string;
  readonly configuration: string;
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
  const { save, canSave, isPending, problem, check } = useSave(reactor, draft);
  if (reactor?.formula) {
    return <p className="note">This reactor runs the formula {reactor.formulaDetails?.name ?? reactor.formula.id}.</p>;
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    check.guard(save);
  };
  return (
    <>
      <form className="form wide" onSubmit={submit}>
        {problem && <ProblemNote key={problem.message} problem={problem} />}
        <ConflictNote check={check} save={save} />
        <TextField label="Name" value={draft.name} onChange={set("name")} isRequired />
        <CodeEditor label="Code" value={draft.code} onChange={set("code")} isReadOnly={!canSave} />
        {canSave && (
          <>
            <ApplicationChoice value={draft.applicationId} onChange={set("applicationId")} />
            <ConfigurationField
              names={Object.keys(reactor?.configuration ?? {})}
              value={draft.configuration}
              onChange={set("configuration")}
            />
            <div className="actions">
              <button type="submit" className="primary" disabled={isPending}>
                {reactor ? "Save" : "Create reactor"}
              </button>
            </div>
          </>
        )}
      </form>
      <ReactorTest code={draft.code} configuration={configurationOf(draft.configuration)} />
    </>
  );
}

function useSave(reactor: Reactor | undefined, { name, code, applicationId, configuration }: ReactorDraft) {
  const [, navigate] = useLocation();
  const create = useChange(ReactorService.method.createReactor);
  const update = useChange(ReactorService.method.updateReactor);
  const client = createClient(ReactorService, useTransport());
  const change = reactor ? update : create;
  const application = applicationId === "" ? {} : { application: { id: applicationId } };
  const save = () => {
    if (!reactor) {
      create.run({ name, code, ...application, configuration: configurationOf(configuration) }, ({ id }) =>
        navigate(`/reactors?${new URLSearchParams({ id })}`),
      );
      return;
    }
    const isConfigured = configuration.trim() !== "";
    const paths = ["name", "code", "application", ...(isConfigured ? ["configuration"] : [])];
    update.run({
      ...{ id: reactor.id, name, code, ...application, updateMask: { paths } },
      ...(isConfigured ? { configuration: configurationPatch(configuration) } : {}),
    });
  };
  const check = useConflictCheck(reactor, () => client.getReactor({ id: reactor?.id ?? "" }));
  return { save, check, canSave: change.isAllowed, isPending: change.isPending, problem: change.problem };
}
