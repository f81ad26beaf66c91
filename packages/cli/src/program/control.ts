import type { ScreeningDecision } from '@outlay/core'
import type { Command } from 'commander'
import type { CliContext } from '../session/cli-context.ts'
import { collect, parseCount, parseVersion } from './count.ts'
import type { Perform } from './perform.ts'

interface ControlOptions {
  readonly actor: string
  readonly reason: string
}

/** How somebody approves. */
export interface ApproveCommandOptions {
  readonly actor: string
  readonly role: string[]
  readonly note?: string
}

/** Adds the options for who gives a command, and why, where both are required. */
const withControlNote = (command: Command): Command =>
  command
    .requiredOption('--actor <name>', 'who does it, for the audit')
    .requiredOption('--reason <text>', 'why, for the audit')

/** Adds the commands with which people hold transfers and let them go. */
export function addHolding(transfers: Command, perform: Perform): void {
  withControlNote(transfers.command('hold'))
    .description(
      'keep transfers that no worker has claimed from being sent, until they are released; all of them or none',
    )
    .argument('<transfer...>', 'ids')
    .action((ids: string[], { actor, reason }: ControlOptions, command: Command) =>
      perform(command, (session, { holdTransfers }) => holdTransfers(session, ids, { actor, reason })),
    )
  transfers
    .command('approve')
    .description('approve held transfers; all of them or none')
    .argument('<transfer...>', 'ids')
    .requiredOption('--actor <name>', 'who approves')
    .option('--role <name>', 'a role that this person has; may be repeated', collect, [])
    .option('--note <text>', 'a note, for the audit')
    .action((ids: string[], { actor, role, note }: ApproveCommandOptions, command: Command) =>
      perform(command, (session, { approveTransfers }) => approveTransfers(session, ids, { actor, roles: role, note })),
    )
  withControlNote(transfers.command('reject'))
    .description('end held transfers as canceled; all of them or none')
    .argument('<transfer...>', 'ids')
    .action((ids: string[], { actor, reason }: ControlOptions, command: Command) =>
      perform(command, (session, { rejectTransfers }) => rejectTransfers(session, ids, { actor, reason })),
    )
  withControlNote(transfers.command('answer-screening'))
    .description('answer what the screening of a transfer has put on hold')
    .argument('<transfer>', 'id')
    .requiredOption('--result <answer>', 'pass lets it go, refuse ends it as canceled, hold keeps it')
    .option('--case <id>', 'the case that it is about, as "transfers show" has it; a pass needs it where there is one')
    .action((id: string, options: ScreeningDecision, command: Command) =>
      perform(command, (session, { answerScreening }) => answerScreening(session, id, options)),
    )
}

/** Adds the commands about policies and the audit. */
export function addPolicies(program: Command, perform: Perform, around: CliContext): void {
  const policies = program.command('policies').description('policies: which transfers are held or refused')
  policies
    .command('show')
    .description('the policies, as JSON')
    .option('--policy-version <number>', 'an earlier version', parseCount)
    .action(({ policyVersion }: { policyVersion?: number }, command: Command) =>
      perform(command, (session, { showPolicies }) => showPolicies(session, policyVersion)),
    )
  withControlNote(policies.command('set'))
    .description('replace all policies by those of a file of JSON, a list')
    .argument('<file>', 'path')
    .option('--expected-version <number>', 'refuse it when the policies are of another version', parseVersion)
    .option('--clear', 'the file has an empty list, which ends all policies')
    .option(
      '--gateway-module <file>',
      "a module that exports the host's gateway and its catalog, where that is one of its own",
    )
    .action((file: string, { gatewayModule, ...options }: SetOptions, command: Command) =>
      perform(command, (session, { setPolicies }) => setPolicies(session, file, options, gatewayModule)),
    )
  policies
    .command('prepare')
    .description(
      'make the indexes that policies about new payees and about transfers that are alike need; nobody waits, and it may be run again',
    )
    .action((_: object, command: Command) =>
      perform(command, (session, { preparePolicies }) => preparePolicies(session)),
    )
  addAudit(program, perform, around)
}

/** Adds the commands about the audit. */
function addAudit(program: Command, perform: Perform, around: CliContext): void {
  const audit = program
    .command('audit')
    .description('who did what, and why, the newest first')
    .option('--transfer <id>', 'only about this transfer')
    .option('--by <actor>', 'only by this person or program')
    .option('--limit <count>', 'at most so many (default: 50)', parseCount)
    .action(({ transfer: transferId, by: actor, limit }: AuditOptions, command: Command) =>
      perform(command, (session, { listAudit }) => listAudit(session, { transferId, actor, limit })),
    )
  audit
    .command('verify')
    .description(
      'compare all entries with their chain of hashes, and print its end as an anchor; exits with 1 when something was changed',
    )
    .option('--anchor <text>', 'as an earlier comparison has printed it; may be repeated', collect, [])
    .action(({ anchor }: { anchor: string[] }, command: Command) =>
      perform(command, (session, { verifyAudit }) => verifyAudit(session, anchor)),
    )
  audit
    .command('export')
    .description('all entries in the order of their chain, as JSON lines')
    .option('--csv', 'as CSV')
    .option('--after <position>', 'only what is behind this position of the chain', parseVersion)
    .action((options: { csv?: true; after?: number }, command: Command) =>
      perform(command, (session, { exportAudit }) => exportAudit(session, around, options)),
    )
}

interface SetOptions extends ControlOptions {
  readonly expectedVersion?: number
  readonly clear?: true
  readonly gatewayModule?: string
}

interface AuditOptions {
  readonly transfer?: string
  readonly by?: string
  readonly limit?: number
}
