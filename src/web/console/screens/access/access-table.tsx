import { Link } from "wouter";
import type { ExplainAccessResponse, ExplainedAccess } from "#client/proto/cloakroom/v1/applications_pb.js";
import { entityAddress } from "../../components/entity-link.js";
import { Exposure } from "../../components/exposure.js";
import { Empty } from "../../components/loaded.js";
import { OffsetPages } from "../../components/pages.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { describeTransform, explanationOutcome, explanationReason } from "./explanation-text.js";

interface AccessTableProps {
  readonly found: ExplainAccessResponse;
  readonly permission: string;
  /** Those of the token, if known. */
  readonly containers: readonly string[];
}

/** Those who see the value come first, and refused ones last. */
const GROUPS = [
  ["reveal", "See the value"],
  ["mask", "See the masked value"],
  ["redact", "See no value"],
  [undefined, "Are refused"],
] as const;

/** What each application sees, with every rule and its part in that; and what people see. */
export function AccessTable({ found, permission, containers }: AccessTableProps) {
  const { data, roles, pagination } = found;
  return (
    <>
      {data.length === 0 ? (
        <Empty>
          <p>There are no applications, so no program can call the vault.</p>
        </Empty>
      ) : (
        GROUPS.map(([transform, title]) => (
          <Group
            key={title}
            title={title}
            permission={permission}
            containers={containers}
            members={data.filter((access) => access.transform === transform)}
          />
        ))
      )}
      <OffsetPages page={pagination} />
      <p className="quiet">
        People: {roles.map(({ role, transform }) => `${role} ${describeTransform(transform)}`).join("; ")}.
      </p>
    </>
  );
}

interface GroupProps extends Omit<AccessTableProps, "found"> {
  readonly title: string;
  readonly members: readonly ExplainedAccess[];
}

function Group({ title, members, permission, containers }: GroupProps) {
  if (members.length === 0) return null;
  return (
    <section className="stack" aria-label={title}>
      <h2>
        {title} <span className="quiet">{members.length}</span>
      </h2>
      <Table
        label={title}
        rows={members}
        keyOf={({ applicationId }) => applicationId ?? "draft"}
        columns={[
          { head: "Application", cell: (access) => <ApplicationLink {...access} /> },
          { head: "Sees", cell: ({ transform }) => <TransformLabel transform={transform} /> },
          {
            head: "Because",
            cell: (access) => <Reason access={access} permission={permission} containers={containers} />,
          },
        ]}
      />
    </section>
  );
}

function ApplicationLink({ applicationId, name, type }: ExplainedAccess) {
  if (applicationId === undefined) return <>These rights</>;
  return (
    <>
      <Link href={entityAddress("/applications", applicationId)}>
        <Name>{name ?? applicationId}</Name>
      </Link>{" "}
      <span className="quiet">{type}</span>
    </>
  );
}

export function TransformLabel({ transform }: { transform: string | undefined }) {
  return <Exposure transform={transform}>{describeTransform(transform)}</Exposure>;
}

interface ReasonProps {
  readonly access: ExplainedAccess;
  readonly permission: string;
  readonly containers: readonly string[];
}

function Reason({ access, permission, containers }: ReasonProps) {
  return (
    <details>
      <summary>{explanationReason(access, permission)}</summary>
      <ol className="rules">
        {access.steps.map((step) => (
          <li key={step.rule?.priority ?? "plain"} data-decides={step.outcome === "decides"}>
            {step.rule ? `Rule ${step.rule.priority}` : "Permissions without a rule"}
            {step.rule?.description && (
              <>
                {" "}
                <bdi dir="auto">“{step.rule.description}”</bdi>
              </>
            )}
            : {explanationOutcome(step, permission, containers)}
          </li>
        ))}
      </ol>
    </details>
  );
}
