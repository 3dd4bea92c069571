import { ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { TokenExportService } from "#client/proto/cloakroom/v1/token_exports_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Choice, TextField } from "../../components/field.js";
import { FormDialog } from "../../components/form-dialog.js";
import { useDraft } from "../../use-draft.js";

const FIELDS = ["container", "type", "reason"];
/** Applications beyond these are requested by the command line. */
const SIZE = 100;

/** Requests an export by an application, with the rights and keys that it has now. */
export function RequestExport({ onClose }: { onClose: () => void }) {
  const request = useChange(TokenExportService.method.requestTokenExport);
  const [draft, set] = useDraft({ applicationId: "", container: "", type: "", reason: "" });
  const { applicationId, container, type, reason } = draft;
  const submit = () =>
    request.run(
      {
        applicationId,
        reason: reason.trim(),
        ...(container.trim() === "" ? {} : { container: container.trim() }),
        ...(type.trim() === "" ? {} : { type: type.trim() }),
      },
      onClose,
    );
  const problemOf = (field: string) => request.problem?.fields.get(field);
  return (
    <FormDialog
      title="Request an export"
      action="Request"
      change={request}
      isShown={(field) => FIELDS.includes(field)}
      onSubmit={submit}
      onClose={onClose}
    >
      <ExporterChoice value={applicationId} onChange={set("applicationId")} />
      <TextField
        label="Container"
        value={container}
        onChange={set("container")}
        placeholder="/"
        help="Tokens in it and below it. Empty: all."
        problem={problemOf("container")}
      />
      <TextField
        label="Type of tokens"
        value={type}
        onChange={set("type")}
        placeholder="card"
        help="Empty: every type."
        problem={problemOf("type")}
      />
      <TextField
        label="Why"
        value={reason}
        onChange={set("reason")}
        isRequired
        help="For the person who approves. The log keeps it."
        problem={problemOf("reason")}
      />
    </FormDialog>
  );
}

/** Of the applications that may export. */
function ExporterChoice({ value, onChange }: { readonly value: string; readonly onChange: (id: string) => void }) {
  const applications = useRead(ApplicationService.method.listApplications, { size: SIZE, sort: "name" });
  const found = (applications.data?.data ?? []).filter(
    ({ rules, permissions }) =>
      permissions.includes("token:export") || rules.some((rule) => rule.permissions.includes("token:export")),
  );
  return (
    <Choice
      label="Application"
      value={value}
      options={[["", "Choose one"], ...found.map(({ id, name }): [string, string] => [id, name])]}
      onChange={onChange}
      help={
        applications.data && found.length === 0
          ? "No application has the permission token:export."
          : "It exports, with the rights and keys that it has now."
      }
    />
  );
}
