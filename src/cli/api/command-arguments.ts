export interface CommandArguments {
  readonly positionals: readonly string[];
  /** By name: the texts of a flag, in order. A switch has the text `true`. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
}
