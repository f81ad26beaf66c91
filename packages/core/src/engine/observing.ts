import { OutlayError } from '../error.ts'
import { atGateway } from '../gateway-account.ts'
import { checkNames } from '../option-names.ts'
import type { AccountObservations, ObservationPort, ObserveRules } from '../ports/observations.ts'
import type { ObservationsOfAccount, Transfers } from './engine.ts'
import { checkAccountId } from './enqueueing.ts'
import type { Gateways } from './gateways.ts'
import { readObservations } from './observation.ts'

/** Makes what applies observations that a host has. Each reads all that it is given before any SQL. */
export function createObserving<Tx>(
  backend: Pick<ObservationPort<Tx>, 'observe'>,
  gateways: Gateways,
  rules: ObserveRules,
): Pick<Transfers<Tx>, 'observe' | 'observeMany'> {
  return {
    async observe(tx, accountId, observations, options = {}) {
      checkAccountId(accountId)
      checkNames(options, ['gateway'])
      const account = atGateway({ gateway: gateways.choose(options.gateway), accountId })
      return backend.observe(tx, [{ account, observations: readObservations(observations) }], rules)
    },
    async observeMany(tx, given) {
      if (!Array.isArray(given)) {
        const message = 'must be a list of accounts with their observations'
        throw OutlayError.fromIssues([{ field: 'observations', code: 'invalid_request', message }])
      }
      const read = given.map((one: unknown, index) => readGiven(one, `${index}`, gateways))
      return backend.observe(tx, mergeAccounts(read), rules)
    },
  }
}

function readGiven(given: unknown, at: string, gateways: Gateways): AccountObservations {
  checkNames(given ?? null, ['accountId', 'observations', 'gateway'], at)
  const { accountId, observations, gateway } = given as ObservationsOfAccount
  checkAccountId(accountId, `${at}.accountId`)
  const account = atGateway({ gateway: gateways.choose(gateway, `${at}.`), accountId })
  return { account, observations: readObservations(observations, `${at}.observations`) }
}

/** An account that is named several times is one, with its observations in their order. */
function mergeAccounts(given: readonly AccountObservations[]): readonly AccountObservations[] {
  const merged = Map.groupBy(given, ({ account }) => account)
  return [...merged].map(([account, parts]) => ({ account, observations: parts.flatMap((one) => one.observations) }))
}
