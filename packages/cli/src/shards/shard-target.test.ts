import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { createProgram } from '../program/program.ts'
import { chooseTarget } from './shard-target.ts'

const around = { env: {}, stdout: () => undefined, stderr: () => undefined, interactive: false }
const program = createProgram({ ...around, signal: AbortSignal.timeout(1) }, '0', () => undefined)

/** The commands that take the ids of transfers. */
const ofTransfers = (command: Command, path: readonly string[] = []): readonly string[] =>
  command.commands.flatMap((sub) => {
    const own = [...path, sub.name()]
    const takesIds = sub.registeredArguments.some((argument) => argument.name() === 'transfer')
    return [...(takesIds ? [own.join(' ')] : []), ...ofTransfers(sub, own)]
  })

it.each(ofTransfers(program))('sends "%s" to the nodes that have the transfers', (path) => {
  const nodes = new Map([['north', { databaseUrl: 'postgres://north' }]])
  expect(chooseTarget({ path, args: ['id'], account: undefined }, {}, { nodes } as never)).toEqual({
    scope: 'having',
    kind: 'transfer',
    ids: ['id'],
  })
})
