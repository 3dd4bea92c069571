/** What a release is made from. */
export interface Source {
  readonly version: string;
  /** All 40 digits. */
  readonly commit: string;
  /** The time of the commit in seconds since 1970, which every file in an archive gets. */
  readonly at: number;
}

/** As `--version` shows it. */
export function shortCommit({ commit }: Source): string {
  return commit.slice(0, 12);
}
