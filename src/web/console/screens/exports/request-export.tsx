import type { Application } from "#client/proto/cloakroom/v1/applications_pb.js";
import { TokenExportService } from "#client/proto/cloakroom/v1/token_exports_pb.js";
import { useChange } from "../../api/queries.js";
import { TextField } from "../../components/field.js";
import { FormDialog } from "../../components/form-dialog.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { ApplicationChoice } from "../application-choice.js";

const FIELDS = ["container", "type", "reason"];

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
  const field = bindFields(draft, set, request.problem);
  return (
    <FormDialog
      title="Request an export"
      action="Request"
      change={request}
      isShown={(name) => FIELDS.includes(name)}
      onSubmit={submit}
      onClose={onClose}
    >
      <ApplicationChoice
        label="Application"
        {...field("applicationId")}
        none="Choose one"
        help="It exports, with the rights and keys that it has now."
        helpWithout="No application has the permission token:export."
        accepts={mayExport}
      />
      <TextField
        label="Container"
        {...field("container")}
        placeholder="/"
        help="Tokens in it and below it. Empty: all."
      />
      <TextField label="Type of tokens" {...field("type")} placeholder="card" help="Empty: every type." />
      <TextField label="Why" {...field("reason")} isRequired help="For the person who approves. The log keeps it." />
    </FormDialog>
  );
}

function mayExport({ rules, permissions }: Application): boolean {
  const isRuled = rules.some((rule) => rule.permissions.includes("token:export"));
  return permissions.includes("token:export") || isRuled;
}
