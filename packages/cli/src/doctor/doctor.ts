import { plural, printable } from '../output/table.ts'
import { isLacking, isLockTimeout } from '../session/problem.ts'
import type { Session } from '../session/session.ts'
import { diagnose } from './diagnosis.ts'
import type { Finding } from './finding.ts'
import { diagnoseLimits } from './limits.ts'
import { testListening } from './listening.ts'
import { diagnoseLocks, diagnoseUnchecked } from './locks.ts'
import { diagnoseObjects } from './objects.ts'
import { diagnosePlacement } from './placement.ts'
import { diagnoseSchema } from './schema.ts'

/** Checks for every known problem. Returns the exit code: 1 when something is serious. */
export async function runDoctor(session: Session): Promise<number> {
  const findings = await examine(session)
  const grave = findings.filter((finding) => finding.severity === 'serious').length
  session.write({ healthy: grave === 0, findings }, () => formatFindings(findings))
  return grave === 0 ? 0 : 1
}

async function examine(session: Session): Promise<readonly Finding[]> {
  try {
    return await examineAll(session)
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    return diagnoseUnchecked(await session.inspection.locks())
  }
}

async function examineAll(session: Session): Promise<readonly Finding[]> {
  session.progress('Checking the schema and the queue …')
  const state = await session.inspection.schema()
  const schema = diagnoseSchema(state, session)
  // Views of another release would fail.
  if (schema.some((finding) => finding.severity === 'serious')) return schema
  // A later release has made its own objects.
  const isAhead = state.unknown.some((name) => /^\d/.test(name))
  const objects = isAhead ? [] : diagnoseObjects(state.schema, await session.inspection.differences())
  session.progress('Checking transfers, jobs, subscriptions and the server …')
  const locks = diagnoseLocks(await session.inspection.locks())
  const health = await session.inspection.health().catch((error: unknown) => {
    if (objects.length === 0 || !isLacking(error)) throw error
  })
  if (health === undefined) return [...objects, ...locks, ...schema]
  session.progress('Waiting for a notification …')
  const connection = await testListening(session)
  const placement = await diagnosePlacement(session)
  const held = await diagnoseLimits(session)
  return [...objects, ...locks, ...schema, ...diagnose(health, connection), ...placement, ...held]
}

/** Formats findings, each with its cure. */
export function formatFindings(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'All is well.'
  const lines = findings.map(({ severity, code, what, cure }) => {
    const mark = severity === 'serious' ? 'SERIOUS' : 'warning'
    return `${mark}  ${code}\n  ${printable(what)}\n  → ${printable(cure)}`
  })
  const grave = findings.filter((finding) => finding.severity === 'serious').length
  const sum = `${plural(findings.length, 'finding')}, ${grave === 0 ? 'none of them serious' : `${grave} serious`}.`
  return [...lines, sum].join('\n\n')
}
