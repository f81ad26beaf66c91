import {
  type EnqueuedTransfer,
  type EnqueueRequest,
  type FindTransfers,
  OutlayError,
  type Transfers,
} from '@outlay/core'
import type { NodeQuestions } from './node-answers.ts'
import { accountMoving, type NodeGuard } from './node-guard.ts'
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
  readonly guard: NodeGuard<Tx>
}

/** Creates the commands and reads of transfers over nodes. */
export function createShardTransfers<Tx>(parts: ShardParts<Tx>): ShardTransfers<Tx> {
  const { routing, questions, guard } = parts
  const { at, checked, nodeBy } = routing
  const askAt = <T>(accountId: string, ask: (node: LimitedNode<Tx>) => Promise<T>) =>
    at(accountId, (node) => questions.askOne(node, ask))
  const inside = async <T>(tx: Tx, run: (transfers: Transfers<Tx>) => Promise<T>) =>
    run((await nodeBy(tx)).engine.transfers)
  const command = async <T>(tx: Tx, transferId: string, run: (transfers: Transfers<Tx>) => Promise<T>) => {
    try {
      return await inside(tx, run)
    } catch (error) {
      const isUnknown = OutlayError.is(error, 'transfer_not_found')
      if (isUnknown && (await guard.isMoving({ tx }, transferId))) throw accountMoving(`of the transfer ${transferId}`)
      throw error
    }
  }
  return {
    enqueue: (tx, request) => at(request?.accountId, ({ engine }) => engine.transfers.enqueue(tx, request)),
    enqueueMany: (tx, requests) => enqueueMany(routing, tx, requests),
    get: (transferId, tx) =>
      tx === undefined ? getAnywhere(parts, transferId) : inside(tx, (transfers) => transfers.get(transferId, tx)),
    getByKey: (accountId, key) =>
      askAt(accountId, async ({ name, driver, engine }) => {
        const found = await engine.transfers.getByKey(accountId, key)
        // Nothing there does not mean that there is none.
        if (found === undefined) await guard.checkCommitted(driver, name, accountId)
        return found
      }),
    find: (query, tx) => find(parts, query, tx),
    release: (tx, transferId, note) => command(tx, transferId, (transfers) => transfers.release(tx, transferId, note)),
    cancel: (tx, transferId, note) => command(tx, transferId, (transfers) => transfers.cancel(tx, transferId, note)),
    approve: (tx, transferId, approval) =>
      command(tx, transferId, (transfers) => transfers.approve(tx, transferId, approval)),
    reject: (tx, transferId, note) => command(tx, transferId, (transfers) => transfers.reject(tx, transferId, note)),
    hold: (tx, transferId, note) => command(tx, transferId, (transfers) => transfers.hold(tx, transferId, note)),
    holds: (transferId, tx) =>
      tx === undefined
        ? questions.askAny(({ engine }) => engine.transfers.holds(transferId))
        : inside(tx, (transfers) => transfers.holds(transferId, tx)),
    resolve: (tx, transferId, resolution) =>
      command(tx, transferId, (transfers) => transfers.resolve(tx, transferId, resolution)),
    resolveReturn: (tx, transferId, resolution) =>
      command(tx, transferId, (transfers) => transfers.resolveReturn(tx, transferId, resolution)),
    resubmit: (tx, transferId, options) =>
      command(tx, transferId, (transfers) => transfers.resubmit(tx, transferId, options)),
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

/** A transfer between two nodes is on none, which does not mean that there is none; after that it is on the other one. */
async function getAnywhere<Tx>({ questions, guard }: ShardParts<Tx>, transferId: string) {
  const get = () => questions.askAny(({ engine }) => engine.transfers.get(transferId))
  const found = await get()
  if (found !== undefined) return found
  const isMoving = await questions.askAny(
    async ({ driver }) => (await guard.isMoving({ driver }, transferId)) || undefined,
  )
  if (isMoving === true) throw accountMoving(`of the transfer ${transferId}`)
  return get()
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

async function find<Tx>(
  { routing, questions, guard }: ShardParts<Tx>,
  query: FindTransfers,
  tx?: Tx,
): Promise<ShardPage> {
  const ask = ({ engine }: LimitedNode<Tx>) => engine.transfers.find(query)
  if (tx !== undefined) {
    const { engine } = await routing.nodeBy(tx)
    return { ...(await engine.transfers.find(query, tx)), missing: [] }
  }
  if (query?.accountId !== undefined) {
    const { accountId } = query
    const page = await routing.at(accountId, (node) =>
      questions.askOne(node, async (one) => {
        const found = await ask(one)
        if (isAccountId(accountId)) await guard.checkCommitted(one.driver, one.name, accountId)
        return found
      }),
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
