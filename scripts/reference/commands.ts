import { createProgram } from '../../packages/cli/src/program/program.ts'
import { type Page, paragraphs } from './markdown.ts'

type Command = ReturnType<typeof createProgram>

/** The page of the command line, from its own help. */
export function writeCommands(): Page {
  const silent = { env: {}, stdout: () => {}, stderr: () => {}, signal: new AbortController().signal }
  const program = createProgram({ ...silent, interactive: false }, '', () => {})
  return {
    name: 'commands',
    title: 'Commands',
    summary: 'the commands and options of `outlay`, from its own help',
    body: paragraphs(
      '[Operating](../guides/operating.md) says when to use which. Exit codes: 0 success, 1 a failure or a serious finding, 2 invalid arguments.',
      ...leavesOf(program).map(writeCommand),
    ),
  }
}

const leavesOf = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap((one) => leavesOf(one as Command))

function writeCommand(command: Command): string {
  // The width of the terminal must not affect the page.
  command.configureHelp({ ...command.configureHelp(), helpWidth: 110 })
  return paragraphs(`## ${pathOf(command)}`, ['```text', command.helpInformation().trimEnd(), '```'].join('\n'))
}

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
