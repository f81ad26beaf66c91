import type { SchemaState } from '@outlay/adapters-pg'
import { plural } from '../output/table.ts'
import { Refusal, Unfinished } from '../session/problem.ts'
import type { Session } from '../session/session.ts'

/** Brings the schema to this release, or only prints the steps. */
export async function migrate(session: Session, options: { readonly dryRun?: boolean | undefined }): Promise<void> {
  const before = await session.inspection.schema()
  const steps = plan(before)
  if (options.dryRun === true) {
    session.write({ schema: before.schema, wouldRun: steps }, () => describePlan(before, steps))
    return
  }
  const started = performance.now()
  const begun: string[] = []
  const migrating = session.backend.migrate((step) => {
    begun.push(step)
    session.progress(`Running ${step} …`)
  })
  await migrating.catch((error: unknown) => {
    const ran = begun.slice(0, -1)
    throw ran.length === 0 ? error : new Unfinished(`These ran before, and stay: ${ran.join(', ')}.`, error)
  })
  const after = await session.inspection.schema()
  const left = plan(after)
  if (left.length > 0) throw new Error(`These have not run: ${left.join(', ')}.`)
  session.write({ schema: before.schema, ran: steps }, () => {
    if (steps.length === 0) return `"${before.schema}" is current; nothing to do.`
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    return [
      ...summarize(steps).map((step) => `ran ${step}`),
      `"${before.schema}" is current, after ${seconds} s.`,
    ].join('\n')
  })
}

/** The steps that would run, in order. */
function plan(state: SchemaState): readonly string[] {
  const changed = state.migrations.filter((migration) => migration.state === 'changed').map(({ name }) => name)
  if (changed.length > 0) {
    const message = `${changed.join(', ')} ran in "${state.schema}" with another text than that of this release.`
    throw new Refusal(message, 'Install the release that migrated this database; released migrations never change.')
  }
  const queue = [
    ...(state.queueVersion === null ? [`the queue in "${state.queueSchema}"`] : []),
    ...(state.queueExists ? [] : ['the queue of transfers']),
  ]
  const pending = state.migrations.filter((migration) => migration.state === 'pending').map(({ name }) => name)
  return [...queue, ...pending]
}

/** The steps as they are shown: functions and views by their number where there are very many, as in an empty database. */
function summarize(steps: readonly string[]): readonly string[] {
  const rest = steps.filter((step) => !/^(functions|views)\//.test(step))
  const made = steps.length - rest.length
  return made <= 20 ? steps : [...rest, `${made} functions and views`]
}

function describePlan(state: SchemaState, steps: readonly string[]): string {
  if (steps.length === 0) return `"${state.schema}" is current; nothing would run.`
  return [`${plural(steps.length, 'step')} would run in "${state.schema}":`, ...steps.map((step) => `  ${step}`)].join(
    '\n',
  )
}
