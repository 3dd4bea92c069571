import type { CallProblem } from "../../api/call-problem.js";
import { TextArea } from "../../components/field.js";
import { bindFields } from "../../use-draft.js";
import type { ApplicationDraft } from "./application-draft.js";
import { EXAMPLE_TEMPLATES, templatesOfText } from "./token-templates.js";

interface PagePropertiesProps {
  readonly draft: ApplicationDraft;
  readonly set: <K extends keyof ApplicationDraft>(name: K) => (value: ApplicationDraft[K]) => void;
  readonly problem: CallProblem | undefined;
}

/** What pages may do with the keys of a public application, with words that say what it gives away. */
export function PageProperties({ draft, set, problem }: PagePropertiesProps) {
  const isReadable = templatesOfText(draft.templates) !== undefined;
  const wrongTemplate = [...(problem?.fields ?? [])].find(([name]) => name.startsWith("templates"));
  return (
    <>
      <TextArea
        label="Allowed origins"
        {...bindFields(draft, set, problem)("allowedOrigins")}
        rows={3}
        help="One to a line, such as https://shop.example.com: pages that may show hosted fields with the key. With any, the key works in hosted fields only."
      />
      <TextArea
        label="Templates"
        value={draft.templates}
        onChange={set("templates")}
        rows={6}
        help={
          <>
            A JSON list. Pages name a template, and cannot write expressions. A page sees the id that a template makes,
            and with deduplicate_token whether two values are equal. <code>{EXAMPLE_TEMPLATES}</code>
          </>
        }
        problem={
          isReadable
            ? wrongTemplate && `${wrongTemplate[0]} ${wrongTemplate[1]}`
            : "must be a JSON list of templates, each with name, and mask, search_indexes, fingerprint_expression, id or deduplicate_token"
        }
      />
      <div className="checks">
        <label>
          <input
            type="checkbox"
            checked={draft.allowsPageRequests}
            onChange={() => set("allowsPageRequests")(!draft.allowsPageRequests)}
          />
          Pages may call the API with the key themselves
        </label>
        {draft.allowsPageRequests && (
          <p role="note">
            A hostile script in such a page can create tokens with expressions of its own, find out values by
            deduplication, and read what your server authorizes a session for. Only for clients that send expressions
            with a public key.
          </p>
        )}
      </div>
    </>
  );
}
