import { OutlayError } from '@outlay/core'
import { checkNames, checkNumbers, checkText, timerRange } from '@outlay/core/adapter'
import { clearAccount, unpackAccount } from './account-move-arriving.ts'
import { checkNodes, moveAborted, moveRefused } from './account-move-check.ts'
import { checkNothingLeft, completeCopy, copyAccount, copyEnded } from './account-move-copying.ts'
import { agreeWithNodes } from './account-move-decision.ts'
import type { DirectoryMove, DirectoryMoves } from './account-move-directory.ts'
import { keepAccount } from './account-move-forgotten.ts'
import { packAccount } from './account-move-leaving.ts'
import type { MoveNode } from './account-move-node.ts'
import { waitForSnapshots } from './account-move-older.ts'
import { type AccountMoveOptions, createMoveRun, inTime, type MoveRun, Superseded } from './account-move-run.ts'
import { isUnreachable } from './node-reachability.ts'
import { isAccountId } from './shard-routing.ts'

/** What became of a move. */
export interface AccountMoved {
  readonly accountId: string
  readonly from: string
  readonly to: string
  /** `there` when it was there already, `returned` when an unfinished move was taken back on demand. */
  readonly result: 'moved' | 'there' | 'returned'
  readonly transfers: number
  /** How long nothing could be enqueued for the account, in milliseconds. */
  readonly pauseMs: number
  /** From the beginning of the move, whichever process began it, in milliseconds. */
  readonly totalMs: number
}

/** Moves accounts between nodes. */
export interface AccountMoves {
  move(accountId: string, options: AccountMoveOptions): Promise<AccountMoved>
}

interface MoveParts {
  /** The stores of all nodes by name. */
  readonly nodes: ReadonlyMap<string, MoveNode>
  readonly moves: DirectoryMoves
  /** Called when the route of an account has changed. */
  readonly onSwitched: (accountId: string) => void
}

/** Makes the moves of accounts over nodes. */
export function createAccountMoves(parts: MoveParts): AccountMoves {
  const { nodes, moves } = parts
  const moveAlone = async (accountId: string, options: AccountMoveOptions): Promise<AccountMoved> => {
    const { to } = options
    const open = await moves.open(accountId)
    const found = open === undefined ? await begin(parts, accountId, options) : 'open'
    if (typeof found === 'object') return found
    const begun = open ?? (await moves.open(accountId))
    if (begun === undefined) throw superseded(accountId)
    const move = await agree(parts, begun, found === 'begun')
    const steps = createSteps(parts, move, options)
    if (move.state === 'returning' || (move.state === 'leaving' && to === move.fromNode)) {
      const returned = await steps.back()
      if (to !== move.fromNode) throw moveRefused(accountId, 'an earlier move was taken back just now; try again.')
      return returned
    }
    if (to !== move.toNode)
      throw moveRefused(
        accountId,
        `a move from "${move.fromNode}" to "${move.toNode}" has not ended; finish it with to: "${move.toNode}"${
          move.state === 'leaving' ? `, or take it back with to: "${move.fromNode}"` : ' first'
        }.`,
      )
    return steps.forward()
  }
  return {
    async move(accountId, options) {
      if (!isAccountId(accountId))
        throw new OutlayError('invalid_id', 'accountId must be the id of an account', { field: 'accountId' })
      checkOptions(nodes, options)
      const work = () =>
        moveAlone(accountId, options).catch((error: unknown) => {
          throw error instanceof Superseded ? superseded(accountId) : error
        })
      const done = await moves.alone(accountId, work, options.signal)
      if (done === undefined) throw moveRefused(accountId, 'another process moves it at this moment.')
      return done.value
    },
  }
}

const optionNames = ['to', 'actor', 'reason', 'signal', 'waitMs', 'attemptsMs', 'pauseMs', 'onProgress']

function checkOptions(nodes: ReadonlyMap<string, MoveNode>, options: AccountMoveOptions): void {
  checkNames(options, optionNames)
  const { to, actor, reason, waitMs, attemptsMs, pauseMs } = options
  if (actor !== undefined) checkText(actor, 'actor')
  if (reason !== undefined) checkText(reason, 'reason')
  checkNumbers({ waitMs, attemptsMs, pauseMs }, { waitMs: timerRange, attemptsMs: timerRange, pauseMs: timerRange })
  if (nodes.has(to)) return
  const message = `to must be the name of a node, one of ${[...nodes.keys()].join(', ')}; got ${JSON.stringify(to)}`
  throw new OutlayError('invalid_request', message, { field: 'to' })
}

const superseded = (accountId: string): OutlayError =>
  moveRefused(accountId, 'another process has taken this move on or back; run it again to see where it is.')

/** Begins a move in the directory, unless another process has one open. Gives a result where the account is there already. */
async function begin(
  { nodes, moves }: MoveParts,
  accountId: string,
  options: AccountMoveOptions,
): Promise<AccountMoved | 'begun' | 'open'> {
  const { to, actor, reason, signal } = options
  const found = await moves.begin(accountId, to, actor ?? null, reason ?? null)
  if (found === undefined) {
    const message = `The directory has no node for the account ${accountId}; assign one with assign(accountId, node).`
    throw new OutlayError('not_found', message, { field: 'accountId' })
  }
  if (!found.isBegun) {
    if (found.node !== to || (await moves.open(accountId)) !== undefined) return 'open'
    const result = await keepAccount(nodes, nodeOf(nodes, to), accountId, options)
    return { accountId, from: to, to, result, transfers: 0, pauseMs: 0, totalMs: 0 }
  }
  const move = await moves.open(accountId)
  if (move === undefined) throw superseded(accountId)
  try {
    if (signal?.aborted === true) throw moveAborted(accountId)
    await checkNodes(accountId, nodeOf(nodes, move.fromNode), nodeOf(nodes, to))
  } catch (error) {
    // No node knows of it yet.
    await moves.back(move.id)
    await moves.end(move.id)
    throw error
  }
  return 'begun'
}

/** The move as its nodes have it. One that begins with this call ends where they have the account on neither. */
async function agree({ nodes, moves }: MoveParts, move: DirectoryMove, isNew: boolean): Promise<DirectoryMove> {
  if (move.state === 'switched') return move
  try {
    return await agreeWithNodes(move, nodeOf(nodes, move.fromNode), nodeOf(nodes, move.toNode), moves, isNew)
  } catch (error) {
    if (isNew) {
      await moves.back(move.id)
      await moves.end(move.id)
    }
    throw error
  }
}

function nodeOf(nodes: ReadonlyMap<string, MoveNode>, name: string): MoveNode {
  const node = nodes.get(name)
  if (node !== undefined) return node
  const there = [...nodes.keys()].join(', ')
  throw new OutlayError('invalid_request', `The node "${name}" of the move is none of ${there}.`, { field: 'nodes' })
}

/** Whether the new node has begun to unpack with this move, which the old one has allowed then. */
async function isOpened({ to, move }: MoveRun): Promise<boolean> {
  const place = await to.place(move.accountId)
  return place?.version === move.id && (place.state === 'unpacking' || place.state === 'here')
}

/** One call of a move: each step reads what is there, so that it goes on after whatever ended an earlier call. */
function createSteps({ nodes, moves, onSwitched }: MoveParts, move: DirectoryMove, options: AccountMoveOptions) {
  const { id, accountId } = move
  const [from, to] = [nodeOf(nodes, move.fromNode), nodeOf(nodes, move.toNode)]
  const run = createMoveRun(move, from, to, options)
  const ended = async (result: 'moved' | 'returned'): Promise<AccountMoved> => {
    await moves.end(id)
    run.report('ended')
    const now = (await moves.read(id)) ?? move
    return {
      ...{ accountId, from: from.name, to: result === 'moved' ? to.name : from.name, result },
      ...{ transfers: now.transfers ?? 0, pauseMs: now.pauseMs ?? 0, totalMs: now.totalMs ?? 0 },
    }
  }
  const back = async () => {
    inTime(await moves.back(id))
    run.report('returning')
    // The account goes on as soon as its own node has it again, whatever the other one does: that one refuses it.
    const state = await from.back(accountId, from.name, id)
    inTime(state === 'returning' || state === 'here')
    await unpackAccount(run, from, 'returning')
    await moves.resume(id)
    inTime(await to.back(accountId, from.name, id))
    await clearAccount(run, to, 'departed')
    return ended('returned')
  }
  const leave = async () => {
    try {
      await checkNodes(accountId, from, to)
      // Unless an earlier call has begun the pause.
      if ((await from.place(accountId))?.version !== id) {
        await copyEnded(run)
        await waitForSnapshots(run)
      }
      run.pause()
      await packAccount(run, () => moves.pause(id))
      const transfers = await copyAccount(run)
      // A stop or a fence of this moment has to be where the account goes on.
      await checkNodes(accountId, from, to)
      await checkNothingLeft(run)
      inTime(await moves.switch(id, transfers))
    } catch (error) {
      if (error instanceof Superseded || isUnreachable(error)) throw error
      await back()
      throw error
    }
  }
  return {
    back,
    async forward(): Promise<AccountMoved> {
      if (move.state === 'leaving') await leave()
      onSwitched(accountId)
      run.report('switched')
      // An earlier call may have come so far that only the end needs the old node, which may be dead by now.
      if (move.state === 'leaving' || !(await isOpened(run))) {
        // From here on no state of the directory takes it back: this node does not send for it again.
        const state = inTime(await from.handOver(accountId, id))
        if (move.state !== 'leaving') await completeCopy(run, state)
        inTime(await to.open(accountId, id))
      }
      await unpackAccount(run, to, 'unpacking')
      await moves.resume(id)
      run.report('arrived')
      await clearAccount(run, from, 'handed_over')
      return ended('moved')
    },
  }
}
