import '@outlay/core/node-version'

export * from './driver.ts'
export { describeGateway } from './gateway.ts'
export type { GatewaySubject, Through } from './gateway-bench.ts'
export { noteTableSql } from './note-table.ts'
export * from './service.ts'
