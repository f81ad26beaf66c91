import { OutlayError } from '../error.ts'
import { atGateway } from '../gateway-account.ts'
import { checkNames } from '../option-names.ts'
import type { AccountPort } from '../ports/account-commands.ts'
import type { AccountLimits, AccountLimitsChange } from '../ports/accounts.ts'
import type { AuditPort } from '../ports/audit.ts'
import type { Runtime } from '../ports/runtime.ts'
import type { OperatorNote } from '../ports/safety.ts'
import { checkAccountLimits } from './account-limits.ts'
import type { Accounts, AtGateway } from './accounts.ts'
import { readAnyNote, readMoment } from './actors.ts'
import { createHoldingBackRecord, recordCommand } from './audited.ts'
import { checkAccountId, readSince } from './enqueueing.ts'
import type { Gateways } from './gateways.ts'

/** Creates the commands of accounts. Each checks its input before any SQL, so that a refusal leaves the transaction usable. */
export function createAccounts<Tx>(
  backend: AccountPort<Tx> & AuditPort<Tx>,
  { clock, logger }: Pick<Runtime, 'clock' | 'logger'>,
  gateways: Pick<Gateways, 'choose'>,
): Accounts<Tx> {
  return {
    ...createPausing(backend, logger),
    async fundsArrived(tx, accountId, note) {
      checkAccountId(accountId)
      const by = readAnyNote(note)
      const count = await backend.fundsArrived(tx, accountId)
      if (count > 0)
        await recordCommand(backend, tx, by, { command: 'accounts.funds_arrived', after: { accountId, count } })
      return count
    },
    async retryCredentials(tx, accountId, note) {
      checkAccountId(accountId)
      const by = readAnyNote(note)
      if (!(await backend.retryCredentials(tx, accountId))) return false
      await recordCommand(backend, tx, by, { command: 'accounts.retry_credentials', after: { accountId } })
      return true
    },
    ...createWatching(backend, { clock }, gateways),
    async configure(tx, accountId, change, note) {
      const checked = checkAccountLimits(accountId, change)
      const by = readAnyNote(note)
      const limits = await backend.lockAccountLimits(tx, accountId)
      await backend.configureAccount(tx, accountId, checked)
      const before = { accountId, ...limits }
      const after = { accountId, ...changed(limits, checked) }
      await recordCommand(backend, tx, by, { command: 'accounts.configure', before, after })
    },
    async get(accountId, options = {}) {
      checkAccountId(accountId)
      checkNames(options, ['gateway'])
      const state = await backend.getAccount(atGateway({ gateway: gateways.choose(options.gateway), accountId }))
      return { ...state, accountId }
    },
  }
}

/** The commands that keep an account from sending, and let it send again. */
function createPausing<Tx>(
  backend: AccountPort<Tx> & AuditPort<Tx>,
  logger: Runtime['logger'],
): Pick<Accounts<Tx>, 'pause' | 'resume'> {
  const recordHoldingBack = createHoldingBackRecord(backend, logger)
  return {
    async pause(tx, accountId, note) {
      checkAccountId(accountId)
      const by = readAnyNote(note)
      if (await backend.pause(tx, accountId, by)) {
        await recordHoldingBack(tx, by, { command: 'accounts.pause', ...pausing(accountId, true) })
        return true
      }
      // Whoever resumes it has to see that somebody else wanted it paused, too.
      const first = await backend.findPause(tx, accountId)
      if (first !== null && first.actor !== (by.actor ?? null))
        await recordHoldingBack(tx, by, {
          command: 'accounts.pause',
          before: first,
          after: { accountId, changed: false },
        })
      return false
    },
    async resume(tx, accountId, note) {
      checkAccountId(accountId)
      const { since, ...given } = note ?? {}
      const by = readAnyNote(given)
      if (!(await backend.resume(tx, accountId, readMoment(since, 'since')))) {
        const other = since === undefined ? null : await backend.findPause(tx, accountId)
        if (other === null) return false
        const message = `It is paused since ${other.since ?? 'some time'} by ${other.actor ?? 'somebody'} (${other.reason ?? 'no reason given'}), which is another pause than that of ${since}.`
        throw new OutlayError('conflict', message, { field: 'since' })
      }
      await recordCommand(backend, tx, by, { command: 'accounts.resume', ...pausing(accountId, false) })
      return true
    },
  }
}

const pausing = (accountId: string, paused: boolean) => ({
  before: { accountId, paused: !paused },
  after: { accountId, paused },
})

/** The limits after a change: what is absent stays, and null resets. */
const changed = (before: AccountLimits, change: AccountLimitsChange): AccountLimits => ({
  ratePerSecond: change.ratePerSecond === undefined ? before.ratePerSecond : change.ratePerSecond,
  concurrency: change.concurrency === undefined ? before.concurrency : change.concurrency,
  weight: change.weight === undefined ? before.weight : (change.weight ?? 1),
})

/** The commands about transfers that others create. */
function createWatching<Tx>(
  backend: Pick<AccountPort<Tx>, 'watch' | 'unwatch'> & AuditPort<Tx>,
  { clock }: Pick<Runtime, 'clock'>,
  gateways: Pick<Gateways, 'choose'>,
): Pick<Accounts<Tx>, 'watch' | 'unwatch'> {
  const readBy = ({ actor, reason }: AtGateway & OperatorNote) => readAnyNote({ actor, reason })
  return {
    async watch(tx, accountId, watching = {}) {
      checkAccountId(accountId)
      checkNames(watching, ['since', 'gateway', 'actor', 'reason'])
      const by = readBy(watching)
      const gateway = gateways.choose(watching.gateway)
      const since = readSince(watching.since, clock.now())
      if (!(await backend.watch(tx, atGateway({ gateway, accountId }), since))) return false
      await recordCommand(backend, tx, by, { command: 'accounts.watch', after: { accountId, gateway, since } })
      return true
    },
    async unwatch(tx, accountId, options = {}) {
      checkAccountId(accountId)
      checkNames(options, ['gateway', 'actor', 'reason'])
      const by = readBy(options)
      const gateway = gateways.choose(options.gateway)
      if (!(await backend.unwatch(tx, atGateway({ gateway, accountId })))) return false
      await recordCommand(backend, tx, by, { command: 'accounts.unwatch', before: { accountId, gateway } })
      return true
    },
  }
}
