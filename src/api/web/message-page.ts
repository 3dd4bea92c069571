import { escaped } from "../../base/html.js";

/** A page with one sentence. `style` must be ours: it is written as it is. */
export function messagePage(text: string, { lang = "en", style = "" } = {}): string {
  const direction = lang === "ar" ? ' dir="rtl"' : "";
  return `<!DOCTYPE html>
<html lang="${lang}"${direction}>
<head><meta charset="utf-8"><title>${escaped(text)}</title>${style === "" ? "" : `<style>${style}</style>`}</head>
<body><p>${escaped(text)}</p></body>
</html>
`;
}
