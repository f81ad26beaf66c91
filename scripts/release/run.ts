import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { root } from '../packages.ts'

/** Runs a program in the repository, shows its output, and throws when it fails. */
export function run(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}.`)
}

/** The output of a program; `undefined` when it fails. */
export function ask(program: string, args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  return status === 0 ? stdout.trim() : undefined
}
