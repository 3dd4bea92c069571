/** Longest name in a message, in characters as readers count them. */
const MAX_CHARACTERS = 60;

const characters = new Intl.Segmenter("en", { granularity: "grapheme" });

/**
 * A tenant's name for a message to other people. A tenant chooses its name freely, and the message bears the operator's
 * address: the name must not look like more of the message. So it is one line between quotation marks, without addresses
 * that programs turn into links, and without characters that change the direction of text.
 */
export function quotedName(name: string): string {
  const plain = name
    // Full-width and other forms of a dot, a colon or a slash.
    .normalize("NFKC")
    .replaceAll(/[^\p{L}\p{M}\p{N} &'’+,().-]/gu, " ")
    // Between words a dot makes the name of a host.
    .replaceAll(/[.](?! |$)/g, " ")
    .replaceAll(/(\p{M}{2})\p{M}+/gu, "$1")
    .replaceAll(/ +/g, " ")
    .trim();
  const shown = [...characters.segment(plain)].map(({ segment }) => segment);
  const cut = shown.length > MAX_CHARACTERS ? `${shown.slice(0, MAX_CHARACTERS).join("").trimEnd()}…` : plain;
  return `“${cut || "unnamed"}”`;
}
