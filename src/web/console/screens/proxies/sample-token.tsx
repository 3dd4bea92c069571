import { TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { useRead } from "../../api/queries.js";
import { Choice } from "../../components/field.js";

const NONE = "";
const SHOWN = 20;

/** Offers the newest tokens for a sample request. Gives the text of a body that uses the chosen one. */
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
        if (token) onChosen(sampleBodyOf(token));
      }}
      help="The request then refers to it, and the test gets its value masked."
    />
  );
}

/** A request that a partner might get: of a card its number and expiry, of other tokens their value. */
export function sampleBodyOf({ id, type }: { readonly id: string; readonly type: string }): string {
  const field = (path: string) => `{{ ${id} | json: "${path}" }}`;
  const body =
    type === "card"
      ? { number: field("$.number"), exp_month: field("$.expiration_month"), exp_year: field("$.expiration_year") }
      : { value: `{{ ${id} }}` };
  return JSON.stringify(body, undefined, 2);
}
