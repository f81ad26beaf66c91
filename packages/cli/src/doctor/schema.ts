import type { SchemaState } from '@outlay/adapters-pg'
import { listSome } from '../output/list-some.ts'
import { noEngine } from '../session/schema-check.ts'
import type { Session } from '../session/session.ts'
import { type Finding, serious, warning } from './finding.ts'

/** Finds what is wrong with a schema. A serious finding here prevents all other checks. */
export function diagnoseSchema(
  state: SchemaState,
  session: Pick<Session, 'schema' | 'database' | 'server'>,
): readonly Finding[] {
  if (!state.exists) {
    const { message, next } = noEngine(session)
    return [serious('not_migrated', message, next)]
  }
  return [...diagnoseMigrations(state), ...diagnoseQueue(state)]
}

function diagnoseMigrations(state: SchemaState): readonly Finding[] {
  const named = (wanted: string) => state.migrations.filter((one) => one.state === wanted).map((one) => one.name)
  const pending = named('pending')
  const changed = named('changed')
  const findings: Finding[] = []
  if (pending.length > 0) {
    const what = `The schema "${state.schema}" lacks ${listSome(pending)}, or has an older version of it.`
    findings.push(serious('schema_behind', what, 'Run "outlay migrate" before starting this release.'))
  }
  if (changed.length > 0) {
    const what = `${changed.join(', ')} ran with another text than that of this release.`
    findings.push(serious('migration_changed', what, 'Install the release that migrated this database.'))
  }
  if (state.unknown.length > 0) {
    const what = `${state.unknown.join(', ')} ran here and this release does not know it: a newer release migrated the schema.`
    findings.push(warning('schema_ahead', what, 'Use the command line of the release that runs.'))
  }
  return findings
}

function diagnoseQueue(state: SchemaState): readonly Finding[] {
  const { queueSchema, queueVersion, testedQueueVersion, queueExists } = state
  if (queueVersion === null || !queueExists) {
    const what = `There is no queue in the schema "${queueSchema}".`
    return [serious('queue_missing', what, 'Run "outlay migrate", or give --queue-schema if it is in another one.')]
  }
  if (queueVersion === testedQueueVersion) return []
  const what = `The queue in "${queueSchema}" has version ${queueVersion}; this release was tested with ${testedQueueVersion}.`
  const cure = 'Install the pg-boss version that this release pins. Nothing else may migrate the schema of the queue.'
  return [serious('queue_version_untested', what, cure)]
}
