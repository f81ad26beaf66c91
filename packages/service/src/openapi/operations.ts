import { accountsOperations } from '../accounts/schema.ts'
import { addressesOperations } from '../addresses/schema.ts'
import { automationsOperations } from '../automations/schema.ts'
import { balancesOperations } from '../balances/schema.ts'
import { bankLinkSimulationsOperations, bankLinksOperations } from '../bank-links/schema.ts'
import { oauthOperations } from '../clients/oauth-schema.ts'
import { financialInstitutionsOperations } from '../financial-institutions/schema.ts'
import { serviceOperations } from '../health/schema.ts'
import { quotesOperations } from '../quotes/schema.ts'
import type { Dialect } from '../schema/dialect.ts'
import type { Operation } from '../schema/operation.ts'
import { simulationsOperations } from '../simulations/schema.ts'
import { tokensOperations } from '../tokens/schema.ts'
import { transfersOperations } from '../transfers/schema.ts'
import { webhooksOperations } from '../webhooks/schema.ts'

const both: readonly Operation[] = [
  ...accountsOperations,
  ...addressesOperations,
  ...balancesOperations,
  ...transfersOperations,
  ...quotesOperations,
  ...tokensOperations,
  ...automationsOperations,
  ...bankLinksOperations,
  ...financialInstitutionsOperations,
  ...webhooksOperations,
  ...simulationsOperations,
  ...bankLinkSimulationsOperations,
  ...oauthOperations,
  ...serviceOperations,
]

const byDialect = {
  specification: both.filter(({ dialect }) => dialect !== 'public'),
  public: both.filter(({ dialect }) => dialect !== 'specification'),
} as const satisfies Record<Dialect, readonly Operation[]>

/**
 * Every operation of the API in a dialect, in the order of the document. A service describes the operations whose routes it has. With further
 * path segments of bank linking, its operations are at these too.
 */
export function operationsOf(dialect: Dialect, segments: readonly string[] = []): readonly Operation[] {
  const found = byDialect[dialect]
  return segments.length === 0 ? found : found.flatMap((one) => [one, ...segments.flatMap((to) => atSegment(one, to))])
}

/** Every operation of the specification. */
export const operations: readonly Operation[] = operationsOf('specification')

const routesOf = (dialect: Dialect) =>
  new Map(byDialect[dialect].map((one) => [`${one.method.toUpperCase()} ${one.path}`, one]))

const byRoute: Readonly<Record<Dialect, ReadonlyMap<string, Operation>>> = {
  specification: routesOf('specification'),
  public: routesOf('public'),
}

/** The operation of a route, by its method in capitals and its path as the router has it; `undefined` for an unknown route. */
export function findOperation(method: string, path: string, dialect: Dialect = 'specification'): Operation | undefined {
  return byRoute[dialect].get(`${method} ${path}`)
}

/** The operation at another segment than `banklink`, if it is one of bank linking. */
function atSegment(operation: Operation, segment: string): readonly Operation[] {
  const path = operation.path.replace('/banklink/', `/${segment}/`)
  if (path === operation.path) return []
  return [{ ...operation, path, id: `${operation.id}_${segment}`, summary: `${operation.summary} (${segment})` }]
}
