export { runOutlay } from './run.ts'
export type { Surroundings } from './surroundings.ts'
