import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link } from "wouter";
import {
  type Application,
  type ApplicationSchema,
  ApplicationService,
  type UpdateApplicationRequestSchema,
} from "#client/proto/cloakroom/v1/applications_pb.js";
import { type Change, useChange, useRead } from "../../api/queries.js";
import { DeleteEntity } from "../../components/delete-entity.js";
import { Exposure } from "../../components/exposure.js";
import { Loaded } from "../../components/loaded.js";
import { Screen } from "../../components/screen.js";
import { DetailList, Table } from "../../components/table.js";
import { Name, WholeId } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
import { useConflictCheck } from "../../use-conflict-check.js";
import { Author } from "../author.js";
import { useAuthors } from "../names.js";
import { applicationUpdate, openApplicationDraft } from "./application-draft.js";
import { ApplicationForm } from "./application-form.js";
import { ApplicationKeys } from "./application-keys.js";

export function ApplicationDetails({ id }: { id: string }) {
  const application = useRead(ApplicationService.method.getApplication, { id });
  const isOwn = useSession().mayChange(application.data?.createdBy);
  return (
    <Screen
      title={application.data?.name ?? "Application"}
      actions={
        application.data &&
        isOwn && (
          <DeleteEntity
            method={ApplicationService.method.deleteApplication}
            request={{ id }}
            kind="application"
            list="/applications"
          >
            All keys of <Name>{application.data.name}</Name> stop working at once.
          </DeleteEntity>
        )
      }
    >
      <Loaded read={application} lines={8}>
        {(found) => (
          <>
            <Facts application={found} />
            <Rights application={found} />
          </>
        )}
      </Loaded>
      <ApplicationKeys id={id} isOwn={isOwn} />
    </Screen>
  );
}

function Facts({ application }: { application: Application }) {
  const { id, type, allowedOrigins, templates, allowPageRequests, createdAt, createdBy, modifiedAt } = application;
  const names = useAuthors([createdBy]);
  return (
    <DetailList
      pairs={[
        ["Id", <WholeId key="id">{id}</WholeId>],
        ["Type", type],
        ["Allowed origins", allowedOrigins.join(", ")],
        ["Templates", templates.map(({ name }) => name).join(", ")],
        ["Page requests", allowPageRequests && "Allowed: pages may call the API with the key themselves"],
        ["Created", <Time key="created" at={createdAt} />],
        ["By", createdBy && <Author key="by" id={createdBy} names={names} />],
        ["Changed", modifiedAt && <Time key="modified" at={modifiedAt} />],
      ]}
    />
  );
}

function Rights({ application }: { application: Application }) {
  const update = useChange(ApplicationService.method.updateApplication);
  const [isEditing, setEditing] = useState(false);
  const { can, mayChange } = useSession();
  const { rules, permissions, id } = application;
  if (isEditing) return <Editor application={application} update={update} onDone={() => setEditing(false)} />;
  // The form knows no conditions, which only sessions have, so it would lose them.
  const isEditable =
    update.isAllowed && mayChange(application.createdBy) && rules.every(({ conditions }) => conditions.length === 0);
  return (
    <section aria-labelledby="rights">
      <div className="screen-head">
        <h2 id="rights">Rights</h2>
        {isEditable && (
          <button type="button" onClick={() => setEditing(true)}>
            Edit name and rights
          </button>
        )}
      </div>
      {rules.length > 0 && (
        <Table
          label="Access rules"
          rows={rules}
          keyOf={({ priority }) => String(priority)}
          columns={[
            { head: "Rule", isNumber: true, cell: ({ priority }) => priority },
            { head: "Container", cell: ({ container }) => <Name>{container ?? ""}</Name> },
            { head: "Shows", cell: ({ transform }) => <Exposure transform={transform} /> },
            { head: "Permissions", cell: ({ permissions: names }) => names.join(", ") },
            { head: "Description", cell: ({ description }) => <bdi dir="auto">{description}</bdi> },
          ]}
        />
      )}
      <div className="actions">
        <Link href={`/access?${new URLSearchParams({ application: id })}`}>What does it see?</Link>
        {application.type === "public" && can("SessionService/ListSessions") && (
          <Link href={`/sessions?${new URLSearchParams({ application: id })}`}>Its open sessions</Link>
        )}
        {can("LogService/ListLogs") && (
          <>
            <Link href={`/log?${new URLSearchParams({ entity_type: "application", entity_id: id })}`}>
              What changed in it?
            </Link>
            <Link href={`/log?${new URLSearchParams({ actor_id: id })}`}>What did it do?</Link>
            {application.type === "public" && (
              <Link href={`/log?${new URLSearchParams({ entity_type: "session", actor_id: id })}`}>
                Which sessions did it begin?
              </Link>
            )}
          </>
        )}
      </div>
      {permissions.length > 0 && <p>Without a rule: {permissions.join(", ")}</p>}
    </section>
  );
}

interface EditorProps {
  readonly application: Application;
  readonly update: Change<typeof UpdateApplicationRequestSchema, typeof ApplicationSchema>;
  readonly onDone: () => void;
}

/** The whole of an application's rights is saved, so another person's changes would be undone without a word. */
function Editor({ application, update, onDone }: EditorProps) {
  const { id } = application;
  const client = createClient(ApplicationService, useTransport());
  const check = useConflictCheck(application, () => client.getApplication({ id }));
  return (
    <ApplicationForm
      initial={openApplicationDraft(application)}
      isNew={false}
      submitText="Save"
      change={update}
      check={check}
      onSubmit={(draft) => update.run({ ...applicationUpdate(draft), id }, onDone)}
      onCancel={onDone}
    />
  );
}
