import { createRequire } from 'node:module'
import { CommanderError } from 'commander'
import { createProgram } from './program/program.ts'
import type { CliContext } from './session/cli-context.ts'
import { explain, isMisuse } from './session/problem.ts'

/**
 * Runs the command line `outlay` with the given arguments and returns its exit code: 0 for success, 1 for a failure or a
 * serious finding, 2 for invalid arguments. Uses only the context that it is given.
 *
 * @example
 * const code = await runOutlay(['doctor', '--json'], { env: process.env, stdout, stderr, signal, interactive: false })
 */
export async function runOutlay(args: readonly string[], around: CliContext): Promise<number> {
  let code = 0
  const program = createProgram(around, readVersion(), (own) => {
    code = own
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    // Help and the version end this way too; commander has printed what is wrong with the arguments.
    if (error instanceof CommanderError) return error.exitCode === 0 || error.code === 'commander.help' ? 0 : 2
    const problem = explain(error)
    if (args.includes('--json')) around.stderr(`${JSON.stringify({ error: problem })}\n`)
    else around.stderr(`${problem.message}\n→ ${problem.next}\n`)
    return isMisuse(error) ? 2 : 1
  }
}

/** By the name of the package, since the builds stand in folders of different depth. */
function readVersion(): string {
  const manifest = createRequire(import.meta.url)('@outlay/cli/package.json') as { readonly version: string }
  return manifest.version
}
