import type { Command } from 'commander'
import type { ApproveCommandOptions } from './control.ts'
import { collect } from './count.ts'
import type { Perform } from './perform.ts'
import { type NoteOptions, withNote } from './safety.ts'

interface ApproveBatchCommandOptions extends ApproveCommandOptions {
  readonly digest?: string
}

/** Adds the commands about batches. */
export function addBatches(program: Command, perform: Perform): void {
  const batches = program.command('batches').description('batches: show, close, pause, resume, approve and cancel them')
  batches
    .command('show')
    .description('how many transfers of a batch there are, by status')
    .argument('<batch>', 'id')
    .action((id: string, _options: unknown, command: Command) =>
      perform(command, (session, { showBatch }) => showBatch(session, id)),
    )
  withNote(batches.command('close'))
    .description('let a batch take no further transfers, so that it can complete')
    .argument('<batch>', 'id')
    .action((id: string, note: NoteOptions, command: Command) =>
      perform(command, (session, { closeBatch }) => closeBatch(session, id, note)),
    )
  withNote(batches.command('pause'))
    .description('keep the transfers of a batch from being submitted')
    .argument('<batch>', 'id')
    .action((id: string, note: NoteOptions, command: Command) =>
      perform(command, (session, { pauseBatch }) => pauseBatch(session, id, note)),
    )
  withNote(batches.command('resume'))
    .description('resume a paused batch')
    .argument('<batch>', 'id')
    .action((id: string, note: NoteOptions, command: Command) =>
      perform(command, (session, { resumeBatch }) => resumeBatch(session, id, note)),
    )
  batches
    .command('approve')
    .description('approve the held transfers of a batch; all of them or none')
    .argument('<batch>', 'id')
    .requiredOption('--actor <name>', 'who approves')
    .option('--role <name>', 'a role that this person has; may be repeated', collect, [])
    .option('--note <text>', 'a note, for the audit')
    .option(
      '--digest <digest>',
      'as "outlay batches show" prints it: nothing is approved where the batch has changed since',
    )
    .action((id: string, { actor, role, note, digest }: ApproveBatchCommandOptions, command: Command) => {
      const expected = digest === undefined ? {} : { expected: { digest } }
      return perform(command, (session, { approveBatch }) =>
        approveBatch(session, id, { actor, roles: role, note, ...expected }),
      )
    })
  withNote(batches.command('cancel'))
    .description('close a batch and cancel its transfers, but for those whose money may have moved')
    .argument('<batch>', 'id')
    .action((id: string, options: NoteOptions, command: Command) =>
      perform(command, (session, { cancelBatch }) => cancelBatch(session, id, options)),
    )
}
