export * from './driver.ts'
export { noteTableSql } from './note-table.ts'
export * from './service.ts'
