import { type Command, InvalidArgumentError } from 'commander'
import { collect } from './count.ts'
import type { Perform } from './perform.ts'

interface ConsoleCommandOptions {
  readonly port?: number
  readonly readOnly?: true
  readonly act?: true
  readonly actor?: string
  readonly role: string[]
}

/** Adds the command that starts the console. */
export function addConsole(program: Command, perform: Perform): void {
  program
    .command('console')
    .description('start the console on this machine, for whoever opens the link; needs the package @outlay/console')
    .option('--port <number>', 'port on 127.0.0.1 (default: any that is free)', parsePort)
    .option('--read-only', 'only show (default)')
    .option('--act', 'allow actions, approvals and changes of rules; needs --actor')
    .option('--actor <name>', 'who uses it, for the audit')
    .option('--role <name>', 'with --act: a role that this person has; may be repeated', collect, [])
    .action((options: ConsoleCommandOptions, command: Command) =>
      perform(command, (session, { runConsole }) => runConsole(session, options)),
    )
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw new InvalidArgumentError('It is a number from 1 to 65535.')
  return port
}
