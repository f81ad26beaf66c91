import type { Command } from 'commander'
import type { Session } from './session.ts'

/** What commands do. It is loaded when one runs: help and version need neither Postgres nor the engine. */
type Commands = typeof import('./commands.ts')

/** Loads what commands do. */
export const loadCommands = (): Promise<Commands> => import('./commands.ts')

/** A command's work; it may answer with an exit code. */
type Work = (session: Session, commands: Commands) => Promise<number | undefined> | Promise<void>

/** Runs a command's work in a session of the options that it was given. */
export type Perform = (command: Command, work: Work, needs?: 'current schema' | 'nothing') => Promise<void>
