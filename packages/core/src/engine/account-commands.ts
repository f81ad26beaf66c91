import { atGateway } from '../gateway-account.ts'
import { checkNames } from '../option-names.ts'
import type { AccountPort } from '../ports/account-commands.ts'
import type { Runtime } from '../ports/runtime.ts'
import { checkAccountLimits } from './account-limits.ts'
import type { Engine } from './engine.ts'
import { checkAccountId, readSince } from './enqueueing.ts'
import type { Gateways } from './gateways.ts'

/** Creates the commands of accounts. Each checks its input before any SQL, so that a refusal leaves the transaction usable. */
export function createAccounts<Tx>(
  backend: AccountPort<Tx>,
  { clock }: Pick<Runtime, 'clock'>,
  gateways: Pick<Gateways, 'choose'>,
): Engine<Tx>['accounts'] {
  const checked =
    <T>(run: (tx: Tx, accountId: string) => Promise<T>) =>
    async (tx: Tx, accountId: string): Promise<T> => {
      checkAccountId(accountId)
      return run(tx, accountId)
    }
  return {
    fundsArrived: checked(backend.fundsArrived),
    pause: checked(backend.pause),
    resume: checked(backend.resume),
    retryCredentials: checked(backend.retryCredentials),
    async watch(tx, accountId, watching = {}) {
      checkAccountId(accountId)
      checkNames(watching, ['since', 'gateway'])
      const gateway = gateways.choose(watching.gateway)
      return backend.watch(tx, atGateway({ gateway, accountId }), readSince(watching.since, clock.now()))
    },
    async unwatch(tx, accountId, options = {}) {
      checkAccountId(accountId)
      checkNames(options, ['gateway'])
      return backend.unwatch(tx, atGateway({ gateway: gateways.choose(options.gateway), accountId }))
    },
    configure: async (tx, accountId, change) =>
      backend.configureAccount(tx, accountId, checkAccountLimits(accountId, change)),
    async get(accountId, options = {}) {
      checkAccountId(accountId)
      checkNames(options, ['gateway'])
      const state = await backend.getAccount(atGateway({ gateway: gateways.choose(options.gateway), accountId }))
      return { ...state, accountId }
    },
  }
}
