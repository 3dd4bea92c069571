/**
 * The clipboard needs `allow="clipboard-write"` on the frame; the older command needs only the click.
 * @throws {Error} if the browser allows neither.
 */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) throw new Error("The browser does not allow copying.");
  }
}
