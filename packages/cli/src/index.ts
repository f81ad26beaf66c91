export type { CliContext } from './cli-context.ts'
export { runOutlay } from './run.ts'
