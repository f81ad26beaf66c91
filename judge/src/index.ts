export type { Asked, Balance, Exchange, History, HostLine, Run, ServiceLine } from './history.ts'
export { files, readHistory } from './history.ts'
export { judge, report, type Verdict } from './verdict.ts'
