import { accountsOperations } from './schemas/accounts.ts'
import { addressesOperations } from './schemas/addresses.ts'
import { automationsOperations } from './schemas/automations.ts'
import { balancesOperations } from './schemas/balances.ts'
import { bankLinkSimulationsOperations, bankLinksOperations } from './schemas/bank-links.ts'
import { financialInstitutionsOperations } from './schemas/financial-institutions.ts'
import { oauthOperations } from './schemas/oauth.ts'
import type { Operation } from './schemas/operation.ts'
import { serviceOperations } from './schemas/service.ts'
import { simulationsOperations } from './schemas/simulations.ts'
import { transfersOperations } from './schemas/transfers.ts'
import { webhooksOperations } from './schemas/webhooks.ts'

/** Every operation of the API, in the order of the document. A service shows those whose routes it has. */
export const operations: readonly Operation[] = [
  ...accountsOperations,
  ...addressesOperations,
  ...balancesOperations,
  ...transfersOperations,
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

/** The operation of a route, by its method in capitals and its path as the router has it; `undefined` for others. */
export function findOperation(method: string, path: string): Operation | undefined {
  return byRoute.get(`${method} ${path}`)
}
