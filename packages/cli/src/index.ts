import '@outlay/core/node-version'

export { runOutlay } from './run.ts'
export type { CliContext } from './session/cli-context.ts'
