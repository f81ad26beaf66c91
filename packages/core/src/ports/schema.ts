/** The schema in the database. */
export interface SchemaPort {
  /**
   * Brings the schema to the version of this release. Safe to repeat and to run from several processes at once. Calls `onStep`
   * with the name of each step before the step runs.
   */
  migrate(onStep?: (name: string) => void): Promise<void>
  /** The same as SQL text, for the host's own migration tool. */
  migrationSql(): string
  /**
   * Throws `not_migrated`, `queue_version_untested`, or `schema_too_new` when a later release has closed the schema to this
   * release. A schema that is only newer is accepted.
   */
  check(): Promise<void>
}
