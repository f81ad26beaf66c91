import { Id, type ResubmitOptions, type StoredTransfer } from '@outlay/core'
import { plural } from '../output/table.ts'
import { withGateway } from '../session/gateway-module.ts'
import { Misuse } from '../session/problem.ts'
import type { Session } from '../session/session.ts'
import { unlessUnreadable } from './circumstances.ts'
import { formatHolds, readHolds } from './holds.ts'
import { readAll } from './transfers.ts'

/**
 * Enqueues the request of a failed or canceled transfer again, as a new one with a new key. With a gateway module, by an engine with the
 * host's catalog and environment. Returns the exit code: 1 when an earlier resubmission has ended without a payment, too.
 */
export async function resubmitTransfer(
  session: Session,
  id: string,
  given: Omit<ResubmitOptions, 'amount' | 'destination'> & Correction,
  gatewayModule?: string,
): Promise<number> {
  const { amount, to, ...others } = given
  const isCorrected = amount !== undefined || to !== undefined
  const options = { ...others, ...(isCorrected ? await readCorrection(session, Id.parse(id), { amount, to }) : {}) }
  const resubmit = ({ transfers }: Session['engine']) =>
    session.transaction((tx) => transfers.resubmit(tx, Id.parse(id), options))
  const again =
    gatewayModule === undefined
      ? await resubmit(await findEngine(session, Id.parse(id), given.gateway))
      : await withGateway(session, gatewayModule, resubmit)
  const { id: newId, idempotencyKey, gateway, reused, stage, status } = again
  session.begin(
    reused
      ? `The key ${idempotencyKey} has this request already, as ${newId}, which is ${status} (${stage}); nothing was enqueued.${describeReused(again)}`
      : `${newId} enqueued under the new key ${idempotencyKey}${given.gateway === undefined ? '' : ` at the gateway ${gateway}`}, with the ${isCorrected ? 'corrected ' : ''}request of ${id}.`,
  )
  const holds = await readHolds(session, again.accountId)
  const alike = await unlessUnreadable(findAlike(session, Id.parse(id), newId))
  session.write({ id: newId, idempotencyKey, gateway, reused, stage, status, resubmits: id, holds, alike }, () =>
    [...(reused ? [] : [formatHolds(holds)]), formatAlike(alike, newId)].filter((part) => part !== '').join('\n'),
  )
  return reused && isUnpaid(again) ? 1 : 0
}

/** An engine with the gateway that a person names, which workers have or had, or the ended transfer; throws Misuse for another one, which nothing would send. */
async function findEngine(session: Session, id: string, gateway: string | undefined): Promise<Session['engine']> {
  if (gateway === undefined) return session.engine
  const ended = await readAll(session, [id])
  const known = await session.inspection.gateways()
  const names = [...new Set([...known, ...ended.map((transfer) => transfer.gateway)])]
  if (names.includes(gateway)) return session.engineOf(names)
  const message = `No worker has had a gateway ${JSON.stringify(gateway)}; there ${names.length === 1 ? 'is' : 'are'} ${names.map((name) => JSON.stringify(name)).join(', ')}. Nothing was enqueued.`
  throw new Misuse(message, 'Give one of them, or leave out --gateway for that of the ended transfer.')
}

/** Another transfer that asks for the same payment. */
type Alike = Pick<StoredTransfer, 'id' | 'idempotencyKey' | 'stage' | 'status'>

/** Other transfers with the request of the ended one or the new one, enqueued within a day of it, that have paid or may pay. */
async function findAlike(session: Session, endedId: string, newId: string): Promise<readonly Alike[]> {
  const both = [endedId, newId]
  const found = new Set<string>()
  for (const one of both) for (const id of (await session.inspection.evidence(one))?.sameRequest ?? []) found.add(id)
  const others = await readAll(
    session,
    [...found].filter((one) => !both.includes(one)),
  )
  return others
    .filter((one) => !isUnpaid(one))
    .map(({ id, idempotencyKey, stage, status }) => ({ id, idempotencyKey, stage, status }))
}

/** Warns of a payment that may be made twice: a resubmission by hand of an earlier release left no trace. */
function formatAlike(alike: readonly Alike[] | undefined, newId: string): string {
  if (alike === undefined)
    return `Whether another transfer asks for the same could not be read: see "outlay prove ${newId}".`
  const lines = alike.map(
    ({ id, idempotencyKey, stage, status }) => `  ${id}, key ${idempotencyKey}: ${stage}/${status}`,
  )
  if (lines.length === 0) return ''
  const next = `If it is the same payment, cancel one of them: "outlay transfers cancel ${newId}".`
  return [
    `Beware: the account asks for the same within a day in ${plural(lines.length, 'other transfer')}. ${next}`,
    ...lines,
  ].join('\n')
}

/** What a person corrects of a transfer: the amount in the same currency, and the id of another address of the same kind. */
interface Correction {
  readonly amount?: string | undefined
  readonly to?: string | undefined
}

async function readCorrection(
  session: Session,
  id: string,
  { amount, to }: Correction,
): Promise<Pick<ResubmitOptions, 'amount' | 'destination'>> {
  const [transfer] = await readAll(session, [id])
  if (transfer === undefined) return {}
  // The memo is of the payee.
  const { address: _summary, addressId: _id, wireMemo: _memo, ...leg } = transfer.request.destination
  return {
    ...(amount === undefined ? {} : { amount: { ...transfer.request.amount, value: amount } }),
    ...(to === undefined ? {} : { destination: { ...leg, addressId: to } }),
  }
}

const isUnpaid = ({ stage, status }: Pick<StoredTransfer, 'stage' | 'status'>) =>
  stage === 'settled' && status !== 'complete'

/** What to do about the transfer that has the key already. */
function describeReused(again: Pick<StoredTransfer, 'id' | 'stage' | 'status'>): string {
  const { id, stage, status } = again
  if (isUnpaid(again))
    return ` It is ${status} too: "outlay transfers resubmit ${id}" enqueues it again, or says why not.`
  if (stage === 'settled') return ' It has paid.'
  if (stage === 'blocked') return ` A person has to decide about it: "outlay prove ${id}" shows why.`
  return ` It is under way: "outlay transfers show ${id}" shows what it waits for.`
}
