import { readFile } from 'node:fs/promises'
import type { ApproveOptions, ControlNote, Policy } from '@outlay/core'
import { formatTable } from '../output/table.ts'
import { withGateway } from '../session/gateway-module.ts'
import { Misuse } from '../session/problem.ts'
import type { Session } from '../session/session.ts'
import { changeAll } from './transfers.ts'

/** Holds transfers, all of them or none. */
export async function holdTransfers(session: Session, ids: readonly string[], note: ControlNote): Promise<void> {
  await changeAll(session, ids, 'held', async (tx, { id }) => void (await session.engine.transfers.hold(tx, id, note)))
}

/** Approves held transfers, all of them or none. */
export async function approveTransfers(
  session: Session,
  ids: readonly string[],
  approval: ApproveOptions,
): Promise<void> {
  await changeAll(
    session,
    ids,
    'approved',
    async (tx, { id }) => void (await session.engine.transfers.approve(tx, id, approval)),
  )
}

/** Ends held transfers as canceled, all of them or none. */
export async function rejectTransfers(session: Session, ids: readonly string[], note: ControlNote): Promise<void> {
  await changeAll(session, ids, 'rejected', (tx, { id }) => session.engine.transfers.reject(tx, id, note))
}

/** Shows the policies, or an earlier version of them. */
export async function showPolicies(session: Session, version?: number): Promise<void> {
  const found = await session.engine.policies.get({ version })
  if (found === undefined)
    throw new Misuse(`There is no version ${version} of the policies.`, 'Leave it out for the newest.')
  session.write(found, () => {
    const who =
      found.setAt === null
        ? 'No policies were ever set.'
        : `Version ${found.version}, set ${found.setAt} by ${found.actor}: ${found.reason}`
    return `${who}\n\n${JSON.stringify(found.policies, null, 2)}`
  })
}

/** Replaces all policies by those of a file. With a gateway module, by an engine with the host's catalog. */
export async function setPolicies(
  session: Session,
  file: string,
  note: ControlNote & { readonly expectedVersion?: number | undefined; readonly clear?: boolean | undefined },
  gatewayModule?: string,
): Promise<void> {
  const policies = await readPolicies(file)
  const set = (engine: Session['engine']) => session.transaction((tx) => engine.policies.set(tx, policies, note))
  const { version } = await (gatewayModule === undefined
    ? set(session.engine)
    : withGateway(session, gatewayModule, set))
  session.write({ version, policies: policies.length }, () =>
    policies.length === 0
      ? `Version ${version} has no policies: nothing is held or refused any more, and what is held stays so.`
      : `${policies.length === 1 ? '1 policy' : `${policies.length} policies`} set, as version ${version}. What is held keeps its holds.`,
  )
}

async function readPolicies(file: string): Promise<readonly Policy[]> {
  const next = 'Give a file with a list of policies as JSON, as "outlay policies show" prints it below its first line.'
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Misuse(`The file ${file} cannot be read.`, next)
  })
  let policies: unknown
  try {
    policies = JSON.parse(text)
  } catch {
    throw new Misuse(`The file ${file} is no JSON.`, next)
  }
  if (countMembers(policies) !== countWritten(text))
    throw new Misuse(
      `The file ${file} has a member twice in one object, of which only the last would count.`,
      'Keep one of the two, such as one "when" of each policy.',
    )
  return policies as readonly Policy[]
}

/** How many members the objects of a JSON text have, with repeated ones: between its strings, only a member has a colon. */
const countWritten = (text: string): number =>
  text
    .split(/"(?:[^"\\]|\\.)*"/)
    .join('')
    .split(':').length - 1

/** How many members the objects in a value have. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = Object.values(value)
  const own = Array.isArray(value) ? 0 : members.length
  return members.reduce<number>((sum, member) => sum + countMembers(member), own)
}

/** Lists who did what. */
export async function listAudit(
  session: Session,
  {
    transferId,
    actor,
    limit,
  }: {
    readonly transferId?: string | undefined
    readonly actor?: string | undefined
    readonly limit?: number | undefined
  },
): Promise<void> {
  const records = await session.engine.audit.list({ transferId, actor, ...(limit === undefined ? {} : { limit }) })
  session.write(records, () =>
    records.length === 0
      ? 'Nothing is written down.'
      : formatTable(records, [
          ['at', (row) => row.at],
          ['who', (row) => row.actor],
          ['what', (row) => row.command],
          ['transfer', (row) => row.transferId],
          ['why', (row) => row.reason],
          ['login', (row) => row.login],
        ]),
  )
}
