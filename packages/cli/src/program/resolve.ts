import type { Resolution, ReturnResolution } from '@outlay/core'
import type { Command } from 'commander'
import { Misuse } from '../session/problem.ts'
import type { Perform } from './perform.ts'
import { type NoteOptions, withNote } from './safety.ts'

interface ResolveOptions extends NoteOptions {
  readonly remoteId?: string
  readonly notPaid?: true
  readonly insteadOf?: string
  readonly gatewayModule?: string
  readonly unchecked?: true
}

/** Adds the command with which a person who has asked the service resolves a blocked transfer. */
export function addResolve(transfers: Command, perform: Perform): void {
  withNote(transfers.command('resolve'))
    .description('resolve a blocked transfer, after asking the service for its outcome')
    .argument('<transfer>', 'id')
    .option('--remote-id <id>', 'the service has it, under this id')
    .option(
      '--not-paid',
      'it is certain that nothing was paid and that nothing will be; the transfer fails, and may be resubmitted',
    )
    .option('--instead-of <transfer>', 'removes that id from this transfer, which has it now and becomes blocked')
    .option('--gateway-module <file>', "ask the service first, through a module that exports the host's gateway")
    .option('--unchecked', 'record the id without asking the service, or although it has another transfer there')
    .action((id: string, options: ResolveOptions, command: Command) => {
      const resolution = readResolution(options)
      const { gatewayModule, unchecked } = options
      const check = unchecked ? undefined : gatewayModule
      return perform(command, (session, { resolveTransfer }) => resolveTransfer(session, id, resolution, check))
    })
}

interface ReturnOptions extends NoteOptions {
  readonly return: string
  readonly amount?: string
  readonly currency?: string
  readonly dismiss?: true
}

/** Adds the command with which a person decides about a return that is held. */
export function addResolveReturn(transfers: Command, perform: Perform): void {
  withNote(transfers.command('resolve-return'))
    .description('decide about money that the service says came back, and that contradicts its transfer')
    .argument('<transfer>', 'id')
    .requiredOption('--return <text>', 'which return, as "transfers show" has it')
    .option('--amount <value>', 'so much came back; handlers get transfer.returned')
    .option(
      '--currency <name>',
      'of the amount; needed where the service has reported another one than that of the transfer',
    )
    .option('--dismiss', 'nothing came back, or it was dealt with elsewhere; no handler gets it')
    .action((id: string, options: ReturnOptions, command: Command) => {
      const resolution = readReturnResolution(options)
      return perform(command, (session, { resolveHeldReturn }) => resolveHeldReturn(session, id, resolution))
    })
}

function readReturnResolution(options: ReturnOptions): ReturnResolution {
  const { return: identity, amount, currency, dismiss, reason, actor } = options
  const which = { identity, reason, actor }
  if (amount !== undefined && dismiss === undefined) return { amount, currency, ...which }
  if (amount === undefined && currency === undefined && dismiss) return { dismissed: true, ...which }
  throw new Misuse('What came back is missing.', 'Give either --amount <value> or --dismiss.')
}

function readResolution(options: ResolveOptions): Resolution {
  const { remoteId, notPaid, insteadOf, gatewayModule, unchecked, reason, actor } = options
  const note = { reason, actor }
  if (remoteId !== undefined && notPaid === undefined) {
    if (gatewayModule === undefined && unchecked === undefined) {
      throw new Misuse(
        'An id may be mistyped, so the service has to be asked for it first.',
        'Give --gateway-module <file>, or --unchecked.',
      )
    }
    return { remoteId, insteadOf, unchecked, ...note }
  }
  if (remoteId === undefined && notPaid) {
    if ((gatewayModule ?? unchecked ?? insteadOf) !== undefined) {
      throw new Misuse(
        'Nothing can be asked about a transfer that the service does not have, and no id is moved.',
        'Give --gateway-module, --unchecked and --instead-of with --remote-id only.',
      )
    }
    return { notPaid, ...note }
  }
  throw new Misuse('The outcome of the transfer is missing.', 'Give either --remote-id <id> or --not-paid.')
}
