/**
 * The filters of standard Liquid (shopify.github.io/liquid), which the documentation promises. The engine has more; they
 * stay out because they run expressions given as text (`where_exp` and its like, nested without limit), draw from a
 * source that is not cryptographic (`sample`), or hash card numbers without a key (`sha256`).
 */
export const standardFilters: ReadonlySet<string> = new Set(
  `abs append at_least at_most base64_decode base64_encode capitalize ceil compact concat date default divided_by
  downcase escape escape_once find find_index first floor has join last lstrip map minus modulo newline_to_br plus
  prepend reject remove remove_first remove_last replace replace_first replace_last reverse round rstrip size slice
  sort sort_natural split strip strip_html strip_newlines sum times truncate truncatewords uniq upcase url_decode
  url_encode where`.split(/\s+/),
);

/** Filters whose cost does not depend on the size of their input. */
export const cheapFilters: ReadonlySet<string> = new Set(["default", "first", "last", "size"]);

/** Compare each element about log2(n) times, each comparison reading as much as the elements are long. */
export const sortingFilters: ReadonlySet<string> = new Set(["sort", "sort_natural"]);
