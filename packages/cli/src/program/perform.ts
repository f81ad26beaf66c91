import type { Command } from 'commander'
import type { Session } from '../session/session.ts'

/** The implementation of the commands. It is loaded when a command runs: help and version need neither Postgres nor the engine. */
type Commands = typeof import('../commands.ts')

/** Loads the implementation of the commands. */
export const loadCommands = (): Promise<Commands> => import('../commands.ts')

/** The work of a command; it may return an exit code. */
type Work = (session: Session, commands: Commands) => Promise<number | undefined> | Promise<void>

/**
 * Runs a command's work in a session with the command's options. `what it uses` is for commands that only hold payments back: they also
 * work on an older schema that has what they use.
 */
export type Perform = (
  command: Command,
  work: Work,
  needs?: 'current schema' | 'what it uses' | 'nothing',
) => Promise<void>
