import type { ReactNode } from "react";
import type { CallProblem } from "../../api/call-problem.js";
import { EntityForm } from "../../components/entity-form.js";
import { NameField } from "../../components/field.js";
import { FormActions } from "../../components/form-actions.js";
import { useSession } from "../../session.js";
import type { ConflictCheck } from "../../use-conflict-check.js";
import type { BoundField } from "../../use-draft.js";
import { ApplicationChoice } from "../application-choice.js";
import { ConfigurationField } from "./configuration-field.js";

/** How an editor saves. */
export interface Saving {
  readonly check: ConflictCheck;
  readonly canSave: boolean;
  readonly isPending: boolean;
  readonly problem: CallProblem | undefined;
  save(): void;
}

/** The fields that proxies and reactors have in common. */
export interface CommonDraft {
  readonly name: string;
  readonly applicationId: string;
  readonly configuration: string;
}

interface CodeFormProps {
  readonly saving: Saving;
  readonly field: (name: keyof CommonDraft) => BoundField<string>;
  /** Names of the stored configuration, whose values are hidden. */
  readonly configured: readonly string[];
  /** The button's text. */
  readonly action: string;
  /** The code, and what else only one of them has. */
  readonly children: ReactNode;
}

/** Why a DEVELOPER cannot save what another person created. */
export function OnlyOwn() {
  const { role } = useSession().who;
  if (role !== "DEVELOPER") return null;
  return <p className="note">Your role DEVELOPER changes only what you created. An OWNER or ADMIN can change this.</p>;
}

/** The fields that say themselves what is wrong. */
function isShown(name: string): boolean {
  return name === "name" || name === "destination_url";
}

/** The form of a proxy or reactor. */
export function CodeForm({ saving, field, configured, action, children }: CodeFormProps) {
  const { check, save, canSave, isPending, problem } = saving;
  return (
    <EntityForm problem={problem} isShown={isShown} check={check} save={save}>
      <NameField {...field("name")} />
      {children}
      {!canSave && <OnlyOwn />}
      {canSave && (
        <>
          <ApplicationChoice
            label="Acts as application"
            {...field("applicationId")}
            none="None: no req.bt"
            help="req.bt has its permissions. One that reveals or uses values needs your passkey."
            types={["private", "public"]}
          />
          <ConfigurationField names={configured} {...field("configuration")} />
          <FormActions submitText={action} isDisabled={isPending} />
        </>
      )}
    </EntityForm>
  );
}
