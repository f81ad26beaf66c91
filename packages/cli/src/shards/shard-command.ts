import type { Command } from 'commander'
import type { CliContext } from '../session/cli-context.ts'
import { Misuse } from '../session/problem.ts'
import type { GlobalOptions } from '../session/session.ts'
import { type RunOnDatabase, runOnShards } from './shard-run.ts'

/** Runs a command on one database, or with --shards on those of its file. */
export async function runWhere(command: Command, around: CliContext, run: RunOnDatabase): Promise<number | undefined> {
  const options = command.optsWithGlobals<GlobalOptions & { readonly account?: unknown }>()
  const { shards, node, account, ...others } = options
  if (shards !== undefined) {
    const typed = { path: pathOf(command), args: command.args, account }
    return runOnShards({ ...others, shards, node }, around, typed, run)
  }
  if (node !== undefined)
    throw new Misuse('--node names one of several databases.', 'Give --shards with the file that has them.')
  return run(options, around)
}

/** The words of a command without the name of the program. */
function pathOf(command: Command): string {
  const words: string[] = []
  for (let one: Command | null = command; one?.parent; one = one.parent) words.unshift(one.name())
  return words.join(' ')
}
