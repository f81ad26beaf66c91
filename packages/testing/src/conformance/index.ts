export * from './driver.ts'
export * from './service.ts'
