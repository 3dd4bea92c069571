import { useSearchParams } from "wouter";
import { PermissionService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useRead } from "../../api/queries.js";
import { Choice, TextField } from "../../components/field.js";
import { Form } from "../../components/form.js";
import { Loaded } from "../../components/loaded.js";
import { usePageNumber } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { filledParams } from "../../filled-params.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { AccessTable } from "./access-table.js";

const PERMISSIONS = ["read", "search", "use", "create", "update", "delete"].map((name): [string, string] => [
  `token:${name}`,
  `token:${name}`,
]);

/** Who can see a token, or a token in a container; or what one application sees of it. */
export default function Access() {
  const [params] = useSearchParams();
  const [token, container, application] = ["token", "container", "application"].map((name) => params.get(name) ?? "");
  const permission = params.get("permission") ?? "token:read";
  const page = usePageNumber();
  const subject = token ? { tokenId: token } : { containers: [container || "/"] };
  const access = useRead(PermissionService.method.explainAccess, {
    ...subject,
    permission,
    page,
    size: 100,
    ...(application ? { applicationId: application } : {}),
  });
  return (
    <Screen title="Who can see this?">
      <p className="quiet">
        The vault's own code decides here as it does for calls. Nothing is opened, and no value is shown.
      </p>
      <Question
        key={params.toString()}
        asked={{ token: token ?? "", container: container ?? "", application: application ?? "", permission }}
      />
      <Loaded read={access} lines={8}>
        {(found) => <AccessTable found={found} permission={permission} containers={token ? [] : [container || "/"]} />}
      </Loaded>
    </Screen>
  );
}

type Asked = Readonly<Record<"token" | "container" | "application" | "permission", string>>;

function Question({ asked }: { asked: Asked }) {
  const [, setParams] = useSearchParams();
  const [draft, set] = useDraft(asked);
  const field = bindFields(draft, set);
  return (
    <Form className="filters" aria-label="Question" onSubmit={() => setParams(filledParams(draft))}>
      <TextField label="Token id" {...field("token")} help="Or a container" />
      <TextField label="Container" {...field("container")} placeholder="/" help="Of a token that does not exist yet" />
      <TextField label="Application id" {...field("application")} help="Empty: all applications" />
      <Choice label="Permission" value={draft.permission} options={PERMISSIONS} onChange={set("permission")} />
      <button type="submit" className="primary">
        Explain
      </button>
    </Form>
  );
}
