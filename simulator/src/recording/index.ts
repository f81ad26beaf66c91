export { followTables, type Row } from './follower.ts'
export { digest, startRecordingProxy } from './proxy.ts'
export { createStatements, type Query, type Statements } from './statements.ts'
