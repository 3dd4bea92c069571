import { escaped } from "../base/html.js";
import { Sensitive } from "../crypto/sensitive.js";

/**
 * The HTML of a message, in ASCII: mail servers change other characters.
 * @param body HTML, whose texts are escaped.
 */
export function htmlMessage(title: string, body: string): Sensitive<string> {
  const html = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title></head><body>
${body}
</body></html>
`;
  return new Sensitive(html.replaceAll(/\P{ASCII}/gu, (char) => `&#${char.codePointAt(0)};`));
}
