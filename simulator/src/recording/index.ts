export { type Follower, followTables, type Row } from './follower.ts'
export { digest, type RecordingProxy, startRecordingProxy } from './proxy.ts'
export { createStatements, type Query, type Statements } from './statements.ts'
