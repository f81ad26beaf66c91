import { readFile } from 'node:fs/promises'
import type { ControlNote, LimitUse, SumLimit } from '@outlay/core'
import { formatTable, plural } from '../output/table.ts'
import { Misuse } from '../session/problem.ts'
import type { Session } from '../session/session.ts'

/** Which one of the sums of a limit, in words. */
export const formatSum = ({ of }: Pick<LimitUse, 'of'>): string =>
  Object.keys(of).length === 0
    ? 'the whole host'
    : Object.entries(of)
        .map(([key, value]) => `${key} ${value}`)
        .join(', ')

/** Shows the limits on sums and what is used of them, or an earlier version of the limits alone. */
export async function showLimits(session: Session, version?: number): Promise<void> {
  const found = await session.engine.limits.get({ version })
  if (found === undefined)
    throw new Misuse(`There is no version ${version} of the limits.`, 'Leave it out for the newest.')
  const uses = version === undefined ? await session.engine.limits.uses() : []
  session.write({ ...found, uses }, () =>
    [
      found.setAt === null
        ? 'No limits were ever set.'
        : `Version ${found.version}, set ${found.setAt} by ${found.actor}: ${found.reason}`,
      JSON.stringify(found.limits, null, 2),
      ...(uses.length === 0 ? [] : [formatUses(uses)]),
    ].join('\n\n'),
  )
}

const formatUses = (uses: readonly LimitUse[]): string =>
  formatTable(uses, [
    ['limit', ({ limit }) => limit],
    ['of', formatSum],
    ['used', ({ used, most, currency }) => `${used} of ${most} ${currency}`],
    ['until', ({ until }) => until],
    ['held', ({ held }) => (held === 0 ? null : String(held))],
  ])

/** Replaces all limits on sums by those of a file. */
export async function setLimits(
  session: Session,
  file: string,
  { actor, reason, expectedVersion }: ControlNote & { readonly expectedVersion?: number | undefined },
): Promise<void> {
  const limits = await readLimits(file)
  const note = { actor, reason, expectedVersion }
  const { version } = await session.transaction((tx) => session.engine.limits.set(tx, limits, note))
  session.write({ version, limits: limits.length }, () =>
    limits.length === 0
      ? `Version ${version} has no limits: what they hold goes some seconds from now.`
      : `${plural(limits.length, 'limit')} set, as version ${version}. What was counted stays counted where nothing but the most has changed.`,
  )
}

async function readLimits(file: string): Promise<readonly SumLimit[]> {
  const next = 'Give a file with a list of limits as JSON, as the member "limits" of "outlay limits show --json".'
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Misuse(`The file ${file} cannot be read.`, next)
  })
  try {
    return JSON.parse(text) as readonly SumLimit[]
  } catch {
    throw new Misuse(`The file ${file} is no JSON.`, next)
  }
}
