/** A cloakroom's hanger, as the path of an SVG with the view box `0 0 32 32`. */
export const HANGER =
  "M12 10a4 4 0 1 1 5.5 3.7c-1 .4-1.5 1-1.5 2v1.3l9 5.5c1.6 1 .9 3.5-1 3.5H8c-1.9 0-2.6-2.5-1-3.5l9-5.5";

/** The same, as an address for `<link rel="icon">`. */
export const LOGO = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#35184f"/><path d="${HANGER}" fill="none" stroke="#f0bb57" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"/></svg>`,
)}`;
