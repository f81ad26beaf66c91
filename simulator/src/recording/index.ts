export { digest, startRecordingProxy } from './proxy.ts'
export { createStatements, type Query, type Statements } from './statements.ts'
export { type Row, recordTables } from './table-recorder.ts'
