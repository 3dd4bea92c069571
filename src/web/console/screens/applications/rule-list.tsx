import type { CallProblem } from "../../api/call-problem.js";
import { Choice, TextField } from "../../components/field.js";
import { type ApplicationType, emptyRule, type RuleDraft } from "./application-draft.js";
import { PermissionBoxes } from "./permission-boxes.js";

interface RuleListProps {
  readonly rules: readonly RuleDraft[];
  readonly onChange: (rules: readonly RuleDraft[]) => void;
  readonly problem: CallProblem | undefined;
  readonly type: ApplicationType;
}

const TRANSFORMS = [
  ["redact", "Redact: show no value"],
  ["mask", "Mask: show the masked value"],
  ["reveal", "Reveal: show the value"],
] as const;

export function RuleList({ rules, onChange, problem, type }: RuleListProps) {
  const replace = (index: number, next: RuleDraft) => onChange(rules.with(index, next));
  const move = (index: number, by: number) => {
    const moved = rules[index];
    if (!moved) return;
    onChange(rules.toSpliced(index, 1).toSpliced(index + by, 0, moved));
  };
  return (
    <section className="stack" aria-label="Access rules">
      <h2>Access rules</h2>
      <p className="help">The first rule that has the permission and covers one of the token's containers decides.</p>
      {rules.map((rule, index) => (
        <fieldset key={rule.key}>
          <legend>Rule {index + 1}</legend>
          <RuleFields
            rule={rule}
            type={type}
            problem={problem}
            index={index}
            onChange={(next) => replace(index, next)}
          />
          <div className="actions">
            <button type="button" disabled={index === 0} onClick={() => move(index, -1)}>
              Move up
            </button>
            <button type="button" disabled={index === rules.length - 1} onClick={() => move(index, 1)}>
              Move down
            </button>
            <button type="button" className="danger" onClick={() => onChange(rules.toSpliced(index, 1))}>
              Remove rule
            </button>
          </div>
        </fieldset>
      ))}
      <div>
        <button type="button" onClick={() => onChange([...rules, emptyRule()])}>
          Add rule
        </button>
      </div>
    </section>
  );
}

interface RuleFieldsProps {
  readonly rule: RuleDraft;
  readonly index: number;
  readonly type: ApplicationType;
  readonly problem: CallProblem | undefined;
  readonly onChange: (rule: RuleDraft) => void;
}

function RuleFields({ rule, index, type, problem, onChange }: RuleFieldsProps) {
  return (
    <>
      <div className="filters">
        <TextField
          label="Container"
          value={rule.container}
          isRequired
          help="It and everything below it"
          problem={problem?.fields.get(`rules[${index}].container`)}
          onChange={(container) => onChange({ ...rule, container })}
        />
        <Choice
          label="Shows"
          value={TRANSFORMS.find(([name]) => name === rule.transform)?.[0] ?? "mask"}
          options={TRANSFORMS}
          onChange={(transform) => onChange({ ...rule, transform })}
        />
        <TextField
          label="Description"
          value={rule.description}
          onChange={(description) => onChange({ ...rule, description })}
        />
      </div>
      <PermissionBoxes
        legend={`Permissions of rule ${index + 1}`}
        type={type}
        isOfRule
        chosen={rule.permissions}
        onChange={(permissions) => onChange({ ...rule, permissions })}
      />
      {rule.transform === "reveal" && (
        <div className="checks">
          <label>
            <input
              type="checkbox"
              checked={rule.requiresReason}
              onChange={() => onChange({ ...rule, requiresReason: !rule.requiresReason })}
            />
            Calls must give a reason
          </label>
        </div>
      )}
    </>
  );
}
