import {
  type EnqueuedTransfer,
  type EnqueueRequest,
  type FindTransfers,
  OutlayError,
  type Transfers,
} from '@outlay/core'
import type { NodeQuestions } from './node-answers.ts'
import type { LimitedNode } from './shard-node.ts'
import { isAccountId, type ShardRouting } from './shard-routing.ts'
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

/** What the commands of all nodes use. */
export interface ShardParts<Tx> {
  readonly routing: ShardRouting<Tx>
  readonly questions: NodeQuestions<LimitedNode<Tx>>
}

/** Creates the commands and reads of transfers over nodes. */
export function createShardTransfers<Tx>(parts: ShardParts<Tx>): ShardTransfers<Tx> {
  const { routing, questions } = parts
  const { at, checked, nodeBy } = routing
  const askAt = <T>(accountId: string, ask: (node: LimitedNode<Tx>) => Promise<T>) =>
    at(accountId, (node) => questions.askOne(node, ask))
  const inside = async <T>(tx: Tx, run: (transfers: Transfers<Tx>) => Promise<T>) =>
    run((await nodeBy(tx)).engine.transfers)
  return {
    enqueue: (tx, request) => at(request?.accountId, ({ engine }) => engine.transfers.enqueue(tx, request)),
    enqueueMany: (tx, requests) => enqueueMany(routing, tx, requests),
    get: (transferId, tx) =>
      tx === undefined
        ? questions.askAny(({ engine }) => engine.transfers.get(transferId))
        : inside(tx, (transfers) => transfers.get(transferId, tx)),
    getByKey: (accountId, key) => askAt(accountId, ({ engine }) => engine.transfers.getByKey(accountId, key)),
    find: (query, tx) => find(parts, query, tx),
    release: (tx, transferId, note) => inside(tx, (transfers) => transfers.release(tx, transferId, note)),
    cancel: (tx, transferId, note) => inside(tx, (transfers) => transfers.cancel(tx, transferId, note)),
    approve: (tx, transferId, approval) => inside(tx, (transfers) => transfers.approve(tx, transferId, approval)),
    reject: (tx, transferId, note) => inside(tx, (transfers) => transfers.reject(tx, transferId, note)),
    hold: (tx, transferId, note) => inside(tx, (transfers) => transfers.hold(tx, transferId, note)),
    holds: (transferId, tx) =>
      tx === undefined
        ? questions.askAny(({ engine }) => engine.transfers.holds(transferId))
        : inside(tx, (transfers) => transfers.holds(transferId, tx)),
    resolve: (tx, transferId, resolution) => inside(tx, (transfers) => transfers.resolve(tx, transferId, resolution)),
    resolveReturn: (tx, transferId, resolution) =>
      inside(tx, (transfers) => transfers.resolveReturn(tx, transferId, resolution)),
    resubmit: (tx, transferId, options) => inside(tx, (transfers) => transfers.resubmit(tx, transferId, options)),
    async compare(transferId, remoteId, options) {
      const node = await questions.askAny(async (one) =>
        (await one.engine.transfers.get(transferId)) === undefined ? undefined : one,
      )
      if (node === undefined) throw new OutlayError('transfer_not_found', `No node has a transfer ${transferId}.`)
      await node.engine.transfers.compare(transferId, remoteId, options)
    },
    observe: (tx, accountId, observations, options) =>
      checked(tx, accountId, ({ engine }) => engine.transfers.observe(tx, accountId, observations, options)),
  }
}

/** A transaction has one node, so all accounts of a call are on that one. What is no id of an account has none, and the engine refuses it. */
async function enqueueMany<Tx>(
  { at, nodeOf }: ShardRouting<Tx>,
  tx: Tx,
  requests: readonly EnqueueRequest[],
): Promise<readonly EnqueuedTransfer[]> {
  const accounts = new Map<string, number>()
  for (const [position, request] of Array.isArray(requests) ? requests.entries() : []) {
    const accountId: unknown = request?.accountId
    if (isAccountId(accountId) && !accounts.has(accountId)) accounts.set(accountId, position)
  }
  const [first = ''] = accounts.keys()
  return at(first, async (node) => {
    for (const [accountId, position] of accounts) {
      const found = nodeOf(accountId)
      const other = found instanceof Promise ? await found : found
      if (other === node) continue
      const message = `The account ${accountId} is on the node "${other.name}" and the account ${first} on "${node.name}", so nothing was written; enqueue for the accounts of each node in a transaction of its own.`
      throw new OutlayError('wrong_node', message, { field: `${position}.accountId` })
    }
    return node.engine.transfers.enqueueMany(tx, requests)
  })
}

async function find<Tx>({ routing, questions }: ShardParts<Tx>, query: FindTransfers, tx?: Tx): Promise<ShardPage> {
  const ask = ({ engine }: LimitedNode<Tx>) => engine.transfers.find(query)
  if (tx !== undefined) {
    const { engine } = await routing.nodeBy(tx)
    return { ...(await engine.transfers.find(query, tx)), missing: [] }
  }
  if (query?.accountId !== undefined) {
    const page = await routing.at(query.accountId, (node) => questions.askOne(node, ask))
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
