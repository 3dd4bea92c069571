import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { Link } from "wouter";
import { type Reactor, type ReactorFormula, ReactorService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useChange } from "../../api/queries.js";
import { entityAddress } from "../../components/entity-link.js";
import { Name } from "../../components/text.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { CodeEditor } from "../code/code-editor.js";
import { CodeForm, type CommonDraft, type Saving } from "../code/code-form.js";
import { configurationPatch, readConfiguration } from "../code/configuration-lines.js";
import { useSaving } from "../code/use-saving.js";
import { ReactorTest } from "./reactor-test.js";

interface ReactorDraft extends CommonDraft {
  readonly code: string;
}

interface ReactorEditorProps {
  /** Undefined for a new one. */
  readonly reactor: Reactor | undefined;
  /** Whose code the reactor runs, if it has none of its own. */
  readonly formula: ReactorFormula | undefined;
}

const FIRST_CODE = `module.exports = async function (req) {
  const { args } = req;
  return { raw: { received: args } };
};
`;

/** Edits a reactor, or a new one, and tries its code. Nothing is saved until its person says so. */
export function ReactorEditor({ reactor, formula }: ReactorEditorProps) {
  const [draft, set] = useDraft<ReactorDraft>({
    name: reactor?.name ?? "",
    code: reactor?.code ?? (reactor ? "" : FIRST_CODE),
    applicationId: reactor?.application?.id ?? "",
    configuration: reactor ? "" : unsetLines(formula),
  });
  const saving = useReactorSaving({ reactor, formula }, draft);
  const field = bindFields(draft, set, saving.problem);
  return (
    <>
      <CodeForm
        saving={saving}
        field={field}
        configured={Object.keys(reactor?.configuration ?? {})}
        action={reactor ? "Save" : "Create reactor"}
      >
        {formula ? (
          <p>
            It runs the formula{" "}
            <Link href={entityAddress("/formulas", formula.id)}>
              <Name>{formula.name}</Name>
            </Link>
            .
          </p>
        ) : (
          <CodeEditor label="Code" {...field("code")} isReadOnly={!saving.canSave} />
        )}
      </CodeForm>
      <ReactorTest code={formula?.code ?? draft.code} configuration={readConfiguration(draft.configuration)} />
    </>
  );
}

/** What the formula asks its reactors to set. */
function unsetLines(formula: ReactorFormula | undefined): string {
  return (formula?.configuration ?? []).map(({ name }) => `${name}=`).join("\n");
}

function useReactorSaving({ reactor, formula }: ReactorEditorProps, draft: ReactorDraft): Saving {
  const create = useChange(ReactorService.method.createReactor);
  const update = useChange(ReactorService.method.updateReactor);
  const client = createClient(ReactorService, useTransport());
  const common = {
    name: draft.name,
    ...(formula ? {} : { code: draft.code }),
    ...(draft.applicationId === "" ? {} : { application: { id: draft.applicationId } }),
  };
  return useSaving({
    stored: reactor,
    draft,
    page: "/reactors",
    change: reactor ? update : create,
    read: (id) => client.getReactor({ id }),
    create: (onDone) => {
      const chosen = formula ? { formula: { id: formula.id } } : {};
      create.run({ ...common, ...chosen, configuration: readConfiguration(draft.configuration) }, onDone);
    },
    update: ({ id }, onDone) => {
      const isConfigured = draft.configuration.trim() !== "";
      const paths = ["name", "application", ...(formula ? [] : ["code"]), ...(isConfigured ? ["configuration"] : [])];
      const configuration = isConfigured ? { configuration: configurationPatch(draft.configuration) } : {};
      update.run({ id, ...common, updateMask: { paths }, ...configuration }, onDone);
    },
  });
}
