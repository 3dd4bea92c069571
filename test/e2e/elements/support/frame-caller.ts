import type { Caller } from "../../../../src/access/caller.js";
import { Grant } from "../../../../src/access/grant.js";
import { EMPTY_CONTEXT } from "../../../../src/audit/audit-context.js";
import { newTenantId, newUuid } from "../../../../src/base/ids.js";
import { DEFAULT_SETTINGS } from "../../../../src/tenancy/settings.js";

export const SHOP = "https://shop.example.com";
/** Templates of an application: in two of them an expression has no result for some values. */
export const TEMPLATES = [
  { name: "masked", mask: { all: "{{ data | json: '$' }}", number: "{{ data.number }}" } },
  { name: "named", id: "{{ data.number | alias_preserve_length: 6, 4 }}" },
  {
    name: "indexed",
    search_indexes: ["{{ data.number | slice: 8, 1 | remove: '3' }}"],
    fingerprint_expression: "{{ data.number | slice: 9, 1 | remove: '5' }}",
  },
  { name: "short", id: "{{ data.number | slice: 8, 1 | remove: '3' }}" },
  { name: "empty" },
] as const;

/** A frame of an application with these templates, in this process. */
export const frameCaller: Caller = {
  tenantId: newTenantId(),
  eventTypes: [],
  principal: {
    ...{ kind: "application", type: "public", id: newUuid() },
    pages: {
      allowedOrigins: [SHOP],
      templates: TEMPLATES.map((template) => ({
        name: template.name,
        ...("mask" in template ? { mask: template.mask } : {}),
        ...("search_indexes" in template
          ? { searchIndexes: template.search_indexes, fingerprintExpression: template.fingerprint_expression }
          : {}),
        ...("id" in template ? { id: template.id } : {}),
      })),
      allowPageRequests: false,
    },
  },
  ...{ keyId: newUuid(), session: undefined, revision: 1, context: EMPTY_CONTEXT },
  frame: { pass: "a pass", origin: SHOP },
  grant: new Grant({ permissions: ["token:create"], rules: [] }),
  settings: { ...DEFAULT_SETTINGS, deduplicate_tokens: true, fingerprint_tokens: true },
};
