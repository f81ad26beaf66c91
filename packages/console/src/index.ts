import '@outlay/core/node-version'

export type { Authorization, Authorize, Permission, Permissions } from './authorization/authorization.ts'
export type { Accounts } from './authorization/scope.ts'
export { type Console, type ConsoleOptions, createConsole } from './console.ts'
export { type FetchHandler, type NodeListener, nodeListener } from './http/node-listener.ts'
export type { Problem } from './http/problem.ts'
export type { RateLimit } from './http/rate-limit.ts'
export type { JsonObject } from './openapi/openapi.ts'
