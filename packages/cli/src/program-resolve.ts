import type { Resolution } from '@outlay/core'
import type { Command } from 'commander'
import type { Perform } from './perform.ts'
import { Refusal } from './problem.ts'
import { type NoteOptions, withNote } from './program-safety.ts'

interface ResolveOptions extends NoteOptions {
  readonly remoteId?: string
  readonly notPaid?: true
}

/** Adds the command by which a person who has asked the service ends the doubt about a blocked transfer. */
export function addResolve(transfers: Command, perform: Perform): void {
  withNote(transfers.command('resolve'))
    .description('end the doubt about a blocked transfer, once the service was asked what became of it')
    .argument('<transfer>', 'id')
    .option('--remote-id <id>', 'the service has it, under this id')
    .option(
      '--not-paid',
      'it is certain that nothing was paid, and that nothing will be; it fails, and may be resubmitted',
    )
    .action((id: string, options: ResolveOptions, command: Command) =>
      perform(command, (session, { resolveTransfer }) => resolveTransfer(session, id, readResolution(options))),
    )
}

function readResolution({ remoteId, notPaid, reason, actor }: ResolveOptions): Resolution {
  const note = { reason, actor }
  if (remoteId !== undefined && notPaid === undefined) return { remoteId, ...note }
  if (remoteId === undefined && notPaid) return { notPaid, ...note }
  throw new Refusal('It is not said what became of the transfer.', 'Give either --remote-id <id> or --not-paid.')
}
