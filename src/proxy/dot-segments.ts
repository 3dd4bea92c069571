/**
 * Rounds of percent-decoding. Chains of servers decode twice at most; a path that still changes after four rounds is
 * refused, because its target is unknown.
 */
const MAX_DECODINGS = 4;

/** One byte, `%XX`, or the `%uXXXX` of older Microsoft servers. */
const ENCODED = /%(?:u([0-9a-f]{4})|([0-9a-f]{2}))/gi;

/**
 * ASCII characters in more bytes than necessary, which lenient decoders accept: two bytes from C0 or C1 on, three from
 * E0, up to six from FC (Unicode 3.0, corrigendum 1; CVE-2000-0884, CVE-2008-2938). Some decoders accept any byte after
 * C0 and C1.
 */
const OVERLONG = /[\xc0\xc1][\0-\xff]|(?:\xe0|\xf0\x80|\xf8\x80\x80|\xfc\x80\x80\x80)[\x80\x81][\x80-\xbf]/g;

/** Slashes of other scripts that best-fit mappings turn into `/` or `\`; Unicode's own (NFKC) keeps them. */
const OTHER_SLASHES = /[\u2044\u2215\u2216\u29f5\u29f8\u29f9]/g;

/** What servers ignore in a segment: white space, control characters, invisible characters, invalid bytes. */
const IGNORED = /[\p{Cc}\p{Z}\p{Default_Ignorable_Code_Point}\ufffd]/gu;

/** Where servers end a segment's name: at its parameters, an encoded query or fragment, a NUL, or a line break. */
const END_OF_NAME = /[;?#\0\r\n]/;

/**
 * Whether any known server would read a segment of the path as `.` or `..`, and leave the directory that the path is
 * appended to. Spellings that count as dots:
 * - percent-encoded, also repeatedly: `%2e%2e`, `%252e%252e`, `.%2E`, `%u002e%u002e`
 * - with parameters, which Java servers strip: `..;`, `..;a=b`, `%2e%2e;`, `..%3b`
 * - between backslashes or encoded slashes: `a\..\b`, `a%2f..%2fb`, `..%5c`
 * - in overlong UTF-8 or as full-width characters: `%c0%ae%c0%ae`, `..%c0%af`, `%ef%bc%8e%ef%bc%8e`
 * - with white space or control characters: `..%09`, `.%00.`, `..%20`
 * - before an encoded end of the path, for a server that decodes first: `..%3f`, `..%23`, `..%00a`
 * Everything else passes: `...`, `..a`, `a..`, `;`, `;a=b`, `//`, encoded slashes, and bytes that are not UTF-8. By RFC
 * 3986, 5.2.4 clients resolve dot segments, so no API path needs one.
 * @param path the bytes of the path as latin1 characters.
 */
export function hasDotSegment(path: string): boolean {
  if (!/[.%\x80-\xff]/.test(path)) return false;
  let decoded = path;
  for (let times = 0; times <= MAX_DECODINGS; times += 1) {
    if (readings(decoded).some(holdsDots)) return true;
    if (!decoded.includes("%")) return false;
    const next = decodeOnce(decoded);
    if (next === decoded) return false;
    decoded = next;
  }
  return true;
}

/** The texts that servers may decode the same bytes to. */
function readings(bytes: string): string[] {
  if (!/[\x80-\xff]/.test(bytes)) return [bytes];
  const lenient = bytes.replace(OVERLONG, asciiOf);
  const text = Buffer.from(bytes, "latin1").toString("utf8");
  return [bytes, lenient, text.normalize("NFKC").replace(OTHER_SLASHES, "/")];
}

function holdsDots(path: string): boolean {
  return path.split(/[/\\]/).some((segment) => isDots(segment) || isDots(segment.replace(IGNORED, "")));
}

function isDots(segment: string): boolean {
  const [name = ""] = segment.split(END_OF_NAME, 1);
  return /^\.\.?$/.test(name.replace(IGNORED, ""));
}

/** Code units above a byte become UTF-8, which keeps the result a byte string. */
function decodeOnce(path: string): string {
  return path.replace(ENCODED, (_, unit: string | undefined, byte: string | undefined) =>
    unit === undefined
      ? String.fromCharCode(Number.parseInt(byte ?? "", 16))
      : Buffer.from(String.fromCharCode(Number.parseInt(unit, 16))).toString("latin1"),
  );
}

/** The character of an overlong sequence: its last six bits and those of the byte before. */
function asciiOf(sequence: string): string {
  const [before = 0, last = 0] = [...sequence].slice(-2).map((char) => char.charCodeAt(0));
  return String.fromCharCode(((before & 1) << 6) | (last & 0x3f));
}
