import type { ControlNote, LimitUse, SumLimit } from '@outlay/core'
import { formatTable, plural } from '../output/table.ts'
import { withGateway } from '../session/gateway-module.ts'
import { Misuse } from '../session/problem.ts'
import type { Session } from '../session/session.ts'
import { readJson } from './json-file.ts'

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

/** Replaces all limits on sums by those of a file. With a gateway module, by an engine with the host's catalog. */
export async function setLimits(
  session: Session,
  file: string,
  note: ControlNote & { readonly expectedVersion?: number | undefined; readonly clear?: boolean | undefined },
  gatewayModule?: string,
): Promise<void> {
  const limits = await readJson<readonly SumLimit[]>(file, {
    next: 'Give a file with a list of limits as JSON, as the member "limits" of "outlay limits show --json".',
    example: 'one "USD" of each "most"',
  })
  const set = (engine: Session['engine']) => session.transaction((tx) => engine.limits.set(tx, limits, note))
  const { version } = await (gatewayModule === undefined
    ? set(session.engine)
    : withGateway(session, gatewayModule, set))
  session.write({ version, limits: limits.length }, () =>
    limits.length === 0
      ? `Version ${version} has no limits: what they hold goes some seconds from now.`
      : `${plural(limits.length, 'limit')} set, as version ${version}. What was counted stays counted where the sums are the same.`,
  )
}
