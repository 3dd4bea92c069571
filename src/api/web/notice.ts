import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { OWN_PAGE_HEADERS } from "../browser/security-headers.js";
import { messagePage } from "./message-page.js";
import type { WebBuild } from "./web-build.js";

const TEXTS: Readonly<Record<string, string>> = {
  en: "This field cannot be shown in this page.",
  de: "Dieses Feld kann auf dieser Seite nicht angezeigt werden.",
  fr: "Ce champ ne peut pas être affiché dans cette page.",
  es: "Este campo no se puede mostrar en esta página.",
  ar: "لا يمكن عرض هذا الحقل في هذه الصفحة.",
};

/**
 * Serves what appears in place of a frame that the browser refused. It says so in any page; it has no script, input or
 * data.
 */
export function registerNotice(app: FastifyInstance, build: WebBuild, headers: Readonly<Record<string, string>>): void {
  const style = build.files.get(build.entry("elements/notice").file)?.content.toString() ?? "";
  const hash = createHash("sha256").update(style).digest("base64");
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; form-action 'none'; base-uri 'none'; frame-ancestors *`;
  const pages = new Map(Object.entries(TEXTS).map(([lang, text]) => [lang, messagePage(text, { lang, style })]));
  app.get<{ Querystring: { locale?: unknown } }>(
    "/elements/v1/notice",
    { config: { rateScope: "portal" } },
    ({ query }, reply) =>
      reply
        .headers({ ...OWN_PAGE_HEADERS, ...headers, "content-security-policy": policy })
        .type("text/html; charset=utf-8")
        .send(pages.get(String(query.locale)) ?? pages.get("en")),
  );
}
