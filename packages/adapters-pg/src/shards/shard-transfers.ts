import { type FindTransfers, OutlayError, type Transfers } from '@outlay/core'
import { createMovingSubject, whileHere } from './moving-subject.ts'
import type { NodeGuard } from './node-guard.ts'
import type { LimitedNode } from './shard-node.ts'
import type { ShardParts } from './shard-parts.ts'
import { isAccountId } from './shard-routing.ts'
import { mergePages, type ShardPage } from './shard-search.ts'

/**
 * Commands and reads of transfers, over all nodes. What names an account goes to the node of the account, and refuses a transaction of another
 * one; what names a transfer and a transaction is about the node of the transaction.
 */
export interface ShardTransfers<Tx> extends Transfers<Tx> {
  /**
   * Finds transfers as {@link Transfers.find} does: with an `accountId` those on the node of the account, in a transaction those of its node, and else
   * those of all nodes in one order. A node that does not answer is in `missing`, and the page has the transfers of the others; those that it misses
   * are on no later page.
   */
  find(query: FindTransfers, tx?: Tx): Promise<ShardPage>
}

/** Creates the commands and reads of transfers over nodes. */
export function createShardTransfers<Tx>(parts: ShardParts<Tx>): ShardTransfers<Tx> {
  const { routing, questions, guard } = parts
  const { at, checked } = routing
  const { command, read } = createMovingSubject(parts, 'transfer')
  return {
    enqueue: (tx, request) =>
      at(request?.accountId, (node) =>
        refuseElsewhere(guard, { tx, node, accountIds: [request?.accountId] }, () =>
          node.engine.transfers.enqueue(tx, request),
        ),
      ),
    enqueueMany: (tx, requests) =>
      atOneNode(parts, requests, 'enqueue for', (node, accountIds) =>
        refuseElsewhere(guard, { tx, node, accountIds }, () => node.engine.transfers.enqueueMany(tx, requests)),
      ),
    get: (transferId, tx) => read(tx, transferId, ({ transfers }) => transfers.get(transferId, tx)),
    getByKey: (accountId, key) =>
      at(accountId, (node) =>
        questions.askOne(node, async (one) => {
          const { transfers } = one.engine
          const found = await transfers.getByKey(accountId, key)
          if (found !== undefined) return found
          // Nothing there does not mean that there is none: the account may have been on its way, here or elsewhere, before or after that.
          return whileHere(guard, one, accountId, () => transfers.getByKey(accountId, key))
        }),
      ),
    find: (query, tx) => find(parts, query, tx),
    release: (tx, transferId, note) =>
      command(tx, transferId, ({ transfers }) => transfers.release(tx, transferId, note)),
    cancel: (tx, transferId, note) =>
      command(tx, transferId, ({ transfers }) => transfers.cancel(tx, transferId, note)),
    approve: (tx, transferId, approval) =>
      command(tx, transferId, ({ transfers }) => transfers.approve(tx, transferId, approval)),
    reject: (tx, transferId, note) =>
      command(tx, transferId, ({ transfers }) => transfers.reject(tx, transferId, note)),
    hold: (tx, transferId, note) => command(tx, transferId, ({ transfers }) => transfers.hold(tx, transferId, note)),
    answerScreening: (tx, transferId, decision) =>
      command(tx, transferId, ({ transfers }) => transfers.answerScreening(tx, transferId, decision)),
    holds: (transferId, tx) => read(tx, transferId, ({ transfers }) => transfers.holds(transferId, tx)),
    resolve: (tx, transferId, resolution) =>
      command(tx, transferId, ({ transfers }) => transfers.resolve(tx, transferId, resolution)),
    resolveReturn: (tx, transferId, resolution) =>
      command(tx, transferId, ({ transfers }) => transfers.resolveReturn(tx, transferId, resolution)),
    resubmit: (tx, transferId, options) =>
      command(tx, transferId, ({ transfers }) => transfers.resubmit(tx, transferId, options)),
    async compare(transferId, remoteId, options) {
      const engine = await read(undefined, transferId, async (one) =>
        (await one.transfers.get(transferId)) === undefined ? undefined : one,
      )
      if (engine === undefined) throw new OutlayError('transfer_not_found', `No node has a transfer ${transferId}.`)
      await engine.transfers.compare(transferId, remoteId, options)
    },
    observe: (tx, accountId, observations, options) =>
      checked(tx, accountId, ({ engine }) => engine.transfers.observe(tx, accountId, observations, options)),
    observeMany: (tx, given) =>
      atOneNode(parts, given, 'apply what was observed of', async (node, accountIds) => {
        if (accountIds.length > 0) await guard.check(tx, node.name, accountIds)
        return node.engine.transfers.observeMany(tx, given)
      }),
  }
}

/** A transaction has one node, so all accounts of a call are on that one. What is no id of an account has none, and the engine refuses it. */
async function atOneNode<Tx, T>(
  { routing: { at, nodeOf } }: ShardParts<Tx>,
  given: readonly { readonly accountId: string }[],
  what: string,
  run: (node: LimitedNode<Tx>, accountIds: readonly string[]) => Promise<T>,
): Promise<T> {
  const accounts = new Map<string, number>()
  for (const [position, one] of Array.isArray(given) ? given.entries() : []) {
    const accountId: unknown = one?.accountId
    if (isAccountId(accountId) && !accounts.has(accountId)) accounts.set(accountId, position)
  }
  const [first = ''] = accounts.keys()
  return at(first, async (node) => {
    for (const [accountId, position] of accounts) {
      const found = nodeOf(accountId)
      const other = found instanceof Promise ? await found : found
      if (other === node) continue
      const message = `The account ${accountId} is on the node "${other.name}" and the account ${first} on "${node.name}", so nothing was written; ${what} the accounts of each node in a transaction of its own.`
      throw new OutlayError('wrong_node', message, { field: `${position}.accountId` })
    }
    return run(node, [...accounts.keys()])
  })
}

/** Where the account is not, what was paid before is not known: a policy that refuses by that has said nothing of the account. */
async function refuseElsewhere<Tx, T>(
  guard: NodeGuard<Tx>,
  {
    tx,
    node,
    accountIds,
  }: { readonly tx: Tx; readonly node: LimitedNode<Tx>; readonly accountIds: readonly unknown[] },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (OutlayError.is(error, 'policy_refused')) await guard.check(tx, node.name, accountIds.filter(isAccountId))
    throw error
  }
}

async function find<Tx>(
  { routing, questions, guard }: ShardParts<Tx>,
  query: FindTransfers,
  tx?: Tx,
): Promise<ShardPage> {
  const ask = ({ engine }: LimitedNode<Tx>) => engine.transfers.find(query)
  if (tx !== undefined) {
    const { name, engine } = await routing.nodeBy(tx)
    // A move that begins after this waits for the transaction.
    if (isAccountId(query?.accountId)) await guard.check(tx, name, [query.accountId])
    return { ...(await engine.transfers.find(query, tx)), missing: [] }
  }
  if (query?.accountId !== undefined) {
    const { accountId } = query
    const page = await routing.at(accountId, (node) =>
      questions.askOne(node, (one) =>
        isAccountId(accountId) ? whileHere(guard, one, accountId, () => ask(one)) : ask(one),
      ),
    )
    return { ...page, missing: [] }
  }
  const found = await questions.askAll(ask)
  const refusal = found.missing.find(({ error }) => OutlayError.is(error) && error.code !== 'node_unavailable')
  // The query itself is refused, by every node.
  if (refusal !== undefined) throw refusal.error
  const [dead] = found.missing
  // An empty page without a next one would say that there are none.
  if (dead !== undefined && Object.keys(found.answers).length === 0) throw dead.error
  return mergePages(found, query?.limit ?? defaultLimit)
}

/** Transfers on a page where the query gives no limit, as in an engine. */
const defaultLimit = 50
