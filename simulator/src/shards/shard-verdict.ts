import type { ShardSite } from './shard-site.ts'

/** How it came out. */
export interface ShardVerdict {
  /** Payouts whose transaction committed. */
  readonly payouts: number
  /** Payouts without a completed transfer at the service, and promised ones that are gone. */
  readonly lost: readonly string[]
  /** Transfers at the service that stand for no payout, or for one that has another. */
  readonly twice: readonly string[]
  /** Everything else that is not as it must be, in sentences. */
  readonly violations: readonly string[]
}

interface StoredPayout {
  readonly number: number
  readonly transferId: string
  readonly node: string
}

interface StoredTransfer {
  readonly id: string
  readonly accountId: string
  readonly remoteId: string | null
  readonly status: string
  readonly node: string
}

/** Compares what was committed on all nodes with what the service has, and with what the handlers received. */
export async function judgeShards(site: ShardSite, promised: ReadonlySet<number>): Promise<ShardVerdict> {
  const payouts = await onAll<Omit<StoredPayout, 'node'>>(
    site,
    'select number, transfer_id as "transferId" from payout order by number',
  )
  const transfers = await onAll<Omit<StoredTransfer, 'node'>>(
    site,
    `select id, account_id as "accountId", remote_id as "remoteId", status from outlay.transfer`,
  )
  const byId = Map.groupBy(transfers, ({ id }) => id)
  const atService = new Map<string, string>()
  const { rows } = await site.service.query<{ id: string; status: string }>(
    'select id, status from outlay_service.transfer',
  )
  for (const { id, status } of rows) atService.set(id, status)

  const lost: string[] = []
  const kept = new Set(payouts.map(({ number }) => number))
  for (const number of promised) if (!kept.has(number)) lost.push(`payout ${number} was committed and is gone`)
  for (const { number, transferId, node } of payouts) {
    const [found, ...others] = byId.get(transferId) ?? []
    if (found === undefined) lost.push(`payout ${number} of ${node} has no transfer on any node`)
    else if (found.remoteId === null || found.status !== 'complete' || !atService.delete(found.remoteId)) {
      lost.push(
        `payout ${number} has no completed transfer of its own at the service: ${found.status} on ${found.node}`,
      )
    }
    if (others.length > 0) lost.push(`payout ${number} has transfers on ${[found, ...others].map((one) => one?.node)}`)
  }
  return {
    payouts: payouts.length,
    lost,
    twice: [...atService].map(([id, status]) => `the transfer ${id} of the service, ${status}, is that of no payout`),
    violations: [
      ...site.collapses,
      ...(await judgePlaces(site, transfers)),
      ...(await judgeEvents(site, new Set(payouts.map(({ transferId }) => transferId)))),
    ],
  }
}

/** Everything of an account is on the node that the directory names. */
async function judgePlaces(site: ShardSite, transfers: readonly StoredTransfer[]): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const { accountId } of site.customers) {
    const { name } = await site.office.shards.nodeOf(accountId)
    const elsewhere = transfers.filter((one) => one.accountId === accountId && one.node !== name)
    if (elsewhere.length > 0) wrong.push(`${elsewhere.length} transfers of ${accountId} are not on its node ${name}`)
  }
  return wrong
}

/** Each subscription receives each event once, and of each payout exactly one end. */
async function judgeEvents(site: ShardSite, paid: ReadonlySet<string>): Promise<readonly string[]> {
  const effects = await onAll<{ subscription: string; eventId: string; type: string; transferId: string }>(
    site,
    'select subscription, event_id as "eventId", type, transfer_id as "transferId" from effect',
  )
  const wrong: string[] = []
  for (const [key, received] of Map.groupBy(effects, ({ subscription, eventId }) => `${eventId} by ${subscription}`)) {
    if (received.length > 1) wrong.push(`the event ${key} was delivered ${received.length} times`)
  }
  const endings = Map.groupBy(
    effects.filter(({ subscription }) => subscription === 'endings'),
    ({ transferId }) => transferId,
  )
  for (const id of paid) {
    const types = (endings.get(id) ?? []).map(({ type }) => type)
    if (types.join() !== 'transfer.completed')
      wrong.push(`the ends of ${id} that were delivered are: ${types.join() || 'none'}`)
  }
  return wrong
}

async function onAll<Row extends object>(site: ShardSite, text: string): Promise<readonly (Row & { node: string })[]> {
  const all = await Promise.all(
    site.nodes.map(async ({ name, pool }) => (await pool.query<Row>(text)).rows.map((row) => ({ ...row, node: name }))),
  )
  return all.flat()
}
