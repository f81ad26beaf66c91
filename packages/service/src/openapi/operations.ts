import { accountsOperations } from '../accounts/schema.ts'
import { addressesOperations } from '../addresses/schema.ts'
import { automationsOperations } from '../automations/schema.ts'
import { balancesOperations } from '../balances/schema.ts'
import { bankLinkSimulationsOperations, bankLinksOperations } from '../bank-links/schema.ts'
import { oauthOperations } from '../clients/oauth-schema.ts'
import { financialInstitutionsOperations } from '../financial-institutions/schema.ts'
import { serviceOperations } from '../health/schema.ts'
import { quotesOperations } from '../quotes/schema.ts'
import type { Operation } from '../schema/operation.ts'
import { simulationsOperations } from '../simulations/schema.ts'
import { transfersOperations } from '../transfers/schema.ts'
import { webhooksOperations } from '../webhooks/schema.ts'

/** Every operation of the API, in the order of the document. A service describes the operations whose routes it has. */
export const operations: readonly Operation[] = [
  ...accountsOperations,
  ...addressesOperations,
  ...balancesOperations,
  ...transfersOperations,
  ...quotesOperations,
  ...automationsOperations,
  ...bankLinksOperations,
  ...financialInstitutionsOperations,
  ...webhooksOperations,
  ...simulationsOperations,
  ...bankLinkSimulationsOperations,
  ...oauthOperations,
  ...serviceOperations,
]

const byRoute = new Map(operations.map((one) => [`${one.method.toUpperCase()} ${one.path}`, one]))

/** The operation of a route, by its method in capitals and its path as the router has it; `undefined` for an unknown route. */
export function findOperation(method: string, path: string): Operation | undefined {
  return byRoute.get(`${method} ${path}`)
}
