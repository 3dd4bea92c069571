import { useState } from "react";
import { Link } from "wouter";
import { type Application, ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useChange } from "../../api/queries.js";
import { entityAddress } from "../../components/entity-link.js";
import { Permitted } from "../../components/loaded.js";
import { NewSecret } from "../../components/new-secret.js";
import { Screen } from "../../components/screen.js";
import { applicationRequest, emptyDraft } from "./application-draft.js";
import { ApplicationForm } from "./application-form.js";

/** Makes an application, and shows its key once. */
export function NewApplication() {
  const create = useChange(ApplicationService.method.createApplication);
  const [created, setCreated] = useState<Application | undefined>();
  if (created) {
    return (
      <Screen title="The application is ready">
        <NewSecret name="key" secret={created.key ?? ""} />
        <Link href={entityAddress("/applications", created.id)}>Go to the application</Link>
      </Screen>
    );
  }
  return (
    <Screen title="New application">
      <Permitted operation={create.operation}>
        <ApplicationForm
          initial={emptyDraft()}
          submitText="Create application and key"
          change={create}
          onSubmit={(draft) => create.run({ ...applicationRequest(draft), type: draft.type }, setCreated)}
        />
      </Permitted>
    </Screen>
  );
}
