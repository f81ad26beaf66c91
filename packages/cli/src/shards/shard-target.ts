import { Misuse } from '../session/problem.ts'
import type { GlobalOptions } from '../session/session.ts'
import type { ShardFile } from './shard-file.ts'

/** A command as it was typed. */
export interface TypedCommand {
  /** Its words: `transfers cancel`. */
  readonly path: string
  /** Its arguments, such as ids. */
  readonly args: readonly string[]
  /** The account that it names as an option. */
  readonly account: unknown
}

/** Which nodes a command is for: all, one by its name, or those that have a thing. */
export type ShardTarget =
  | { readonly scope: 'all' }
  | { readonly scope: 'node'; readonly name: string }
  | { readonly scope: 'having'; readonly kind: 'transfer' | 'account' | 'batch'; readonly ids: readonly string[] }

/** Commands that are about one database as a whole, or do not end: a person says which. */
const ofOneNode = new Set(['fence', 'adopt-database', 'reconcile', 'events tail'])

const ofTransfers =
  /^(prove|transfers (show|approve|reject|hold|cancel|release|resubmit|resolve|resolve-return|answer-screening))$/
const ofAccounts = /^accounts (?!list$)/
const ofBatches = /^batches /

/** Decides where a command runs. */
export function chooseTarget(command: TypedCommand, options: GlobalOptions, file: ShardFile): ShardTarget {
  const { path, args, account } = command
  const there = [...file.nodes.keys()].join(', ')
  const { node } = options
  if (node !== undefined) {
    if (file.nodes.has(node)) return { scope: 'node', name: node }
    throw new Misuse(`There is no node "${node}".`, `Give --node with one of ${there}.`)
  }
  if (ofOneNode.has(path))
    throw new Misuse(`"outlay ${path}" is about one database.`, `Give --node with one of ${there}.`)
  if (ofAccounts.test(path)) return onAccount(args[0] ?? '', file)
  if (ofTransfers.test(path) && args.length > 0) return { scope: 'having', kind: 'transfer', ids: args }
  if (ofBatches.test(path)) return { scope: 'having', kind: 'batch', ids: args }
  if (typeof account !== 'string') return { scope: 'all' }
  // A stop of an account may be on each node: where it had no transfers yet, it was written on all.
  if (path === 'start-sending' && file.route === undefined) return { scope: 'all' }
  return onAccount(account, file)
}

function onAccount(accountId: string, { route, nodes }: ShardFile): ShardTarget {
  if (route === undefined) return { scope: 'having', kind: 'account', ids: [accountId] }
  const name = route(accountId)
  if (typeof name === 'string' && nodes.has(name)) return { scope: 'node', name }
  throw new Misuse(
    `The route of the account ${accountId} is no node of the file.`,
    'Correct the route, or give --node.',
  )
}
