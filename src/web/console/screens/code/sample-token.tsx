import { useState } from "react";
import { TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { useRead } from "../../api/queries.js";
import { Choice } from "../../components/field.js";
import { useSession } from "../../session.js";
import { CodeEditor } from "./code-editor.js";

const NONE = "";
const SHOWN = 20;

/** A sample of a try as JSON text, and whether its token expressions get values. */
export interface Sample {
  readonly text: string;
  readonly isEvaluated: boolean;
}

interface SampleEditorProps {
  readonly label: string;
  readonly sample: Sample;
  /** Why values are not allowed, such as a real destination that would get them. */
  readonly hasNoValues: boolean;
  readonly onChange: (sample: Sample) => void;
}

/** A sample as JSON, in which a person can refer to a token. */
export function SampleEditor({ label, sample, hasNoValues, onChange }: SampleEditorProps) {
  const { can } = useSession();
  // An editor keeps its own text, so another sample needs another editor.
  const [samples, setSamples] = useState(0);
  return (
    <>
      <SampleToken
        onChosen={(text) => {
          onChange({ text, isEvaluated: true });
          setSamples(samples + 1);
        }}
      />
      <CodeEditor
        key={samples}
        label={label}
        language="json"
        value={sample.text}
        onChange={(text) => onChange({ ...sample, text })}
      />
      {can("TokenService/GetToken") && (
        <div className="checks">
          <label>
            <input
              type="checkbox"
              checked={sample.isEvaluated && !hasNoValues}
              disabled={hasNoValues}
              onChange={() => onChange({ ...sample, isEvaluated: !sample.isEvaluated })}
            />
            Evaluate token expressions, with masked values
          </label>
        </div>
      )}
    </>
  );
}

/** Offers the newest tokens for a sample. Gives the text of one that uses the chosen token. */
export function SampleToken({ onChosen }: { onChosen: (body: string) => void }) {
  const tokens = useRead(TokenService.method.searchTokensByCursor, { size: SHOWN });
  const found = tokens.data?.data ?? [];
  if (found.length === 0) return null;
  const options = found.map(({ id, type }): [string, string] => [id, `${type} ${id}`]);
  return (
    <Choice
      label="Token for the sample"
      value={NONE}
      options={[[NONE, "Choose a token"], ...options]}
      onChange={(id) => {
        const token = found.find((one) => one.id === id);
        if (token) onChosen(sampleBody(token));
      }}
      help="The sample then refers to it, and the code gets its value masked."
    />
  );
}

/** A request that a partner might get: of a card its number and expiry, of other tokens their value. */
export function sampleBody({ id, type }: { readonly id: string; readonly type: string }): string {
  const field = (path: string) => `{{ ${id} | json: "${path}" }}`;
  const body =
    type === "card"
      ? { number: field("$.number"), exp_month: field("$.expiration_month"), exp_year: field("$.expiration_year") }
      : { value: `{{ ${id} }}` };
  return JSON.stringify(body, undefined, 2);
}
