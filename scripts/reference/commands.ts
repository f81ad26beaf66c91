import { createProgram } from '../../packages/cli/src/program.ts'
import { type Page, paragraphs } from './markdown.ts'

type Command = ReturnType<typeof createProgram>

/** The command line, as its own help has it. */
export function writeCommands(): Page {
  const silent = { env: {}, stdout: () => {}, stderr: () => {}, signal: new AbortController().signal }
  const program = createProgram({ ...silent, interactive: false }, '', () => {})
  return {
    name: 'commands',
    title: 'Commands',
    summary: 'what `outlay` takes, from its own help',
    body: paragraphs(
      'What to use when is in [Operating](../guides/operating.md). Exit codes: 0 all went well, 1 something failed or was found to be wrong, 2 the arguments make no sense.',
      ...leavesOf(program).map(writeCommand),
    ),
  }
}

const leavesOf = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap((one) => leavesOf(one as Command))

function writeCommand(command: Command): string {
  // The width of the terminal must not show.
  command.configureHelp({ ...command.configureHelp(), helpWidth: 110 })
  return paragraphs(`## ${pathOf(command)}`, ['```text', command.helpInformation().trimEnd(), '```'].join('\n'))
}

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
