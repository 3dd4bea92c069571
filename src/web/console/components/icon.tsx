/** Strokes on a grid of 24, drawn for the console. Each has one meaning. */
const STROKES = {
  home: "M4 11l8-7 8 7v8a1 1 0 0 1-1 1h-4v-6H9v6H5a1 1 0 0 1-1-1z",
  token: "M4 5a1 1 0 0 1 1-1h6.5L20 12.5 12.5 20 4 11.5zM8.4 8.4h.01",
  eye: "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  lock: "M6 11h12a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1zM8 11V8a4 4 0 0 1 8 0v3",
  none: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM5.7 5.7l12.6 12.6",
  key: "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12l9-9M16 7l3 3",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7.5V12l3 2",
  proxy: "M3 4h7v7H3zM14 13h7v7h-7zM6.5 11v3A2.5 2.5 0 0 0 9 16.5h5",
  reactor: "M13 3L5 14h6l-1 7 8-11h-6z",
  formula: "M9 4h6M10 4v6L5 18a1.5 1.5 0 0 0 1.3 2.2h11.4A1.5 1.5 0 0 0 19 18l-5-8V4M7.5 15h9",
  plug: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  in: "M12 3v12M8 11l4 4 4-4M4 14v6h16v-6",
  send: "M21 3L10 14M21 3l-7 18-4-7-7-4z",
  out: "M12 15V3M8 7l4-4 4 4M4 14v6h16v-6",
  card: "M4 5h16a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1zM3 10h18M7 15h3",
  log: "M6 3h12a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM9 8h6M9 12h6M9 16h4",
  chart: "M4 4v16h16M9 16v-5M13 16V8M17 16v-3",
  people:
    "M9 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM3 20c0-3.5 2.7-6 6-6s6 2.5 6 6M16 4.8a3.5 3.5 0 0 1 0 6.4M18 14.4c1.9.9 3 3 3 5.6",
  settings: "M4 7h9M17 7h3M15 5a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM4 17h3M11 17h9M9 15a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  book: "M12 6v14M12 6c-2-1.5-5-2-8-2v14c3 0 6 .5 8 2 2-1.5 5-2 8-2V4c-3 0-6 .5-8 2z",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4",
  menu: "M4 7h16M4 12h16M4 17h16",
} as const;

export type IconName = keyof typeof STROKES;

/** A picture beside a word that says the same. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={STROKES[name]} />
    </svg>
  );
}
