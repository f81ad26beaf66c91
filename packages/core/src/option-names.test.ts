import { expect, it } from 'vitest'
import { createAccounts } from './engine/account-commands.ts'
import { archive } from './engine/archiving.ts'
import { createEngine } from './engine/create-engine.ts'
import { readReconcileOptions } from './engine/reconciliation-input.ts'
import { createSafetyCommands } from './engine/stopping.ts'
import { makeSubscription, unsubscribe } from './engine/subscribing.ts'
import { readTimeouts } from './engine/timeouts.ts'
import { checkPolling, checkWorkOptions } from './engine/work-options.ts'

/** Stands for what no refused command may reach. */
const nothing = new Proxy({} as never, {
  get: (_, name) => () => {
    throw new Error(`Reached ${String(name)}.`)
  },
})
const clock = { now: () => new Date() }
const logger = nothing
const mistyped = <Options>(options: unknown): Options => options as Options

it.each<[string, () => unknown]>([
  [
    'concurency: is no option; there are concurrency, pollIntervalMs',
    () => checkWorkOptions(mistyped({ concurency: 5 })),
  ],
  ['must be an object of options; there are backend, gateway', () => createEngine(undefined as never)],
  ['retention: must be an object of options', () => checkWorkOptions(mistyped({ retention: 30 }))],
  ['retention.archiveAfterDay: is no option', () => checkWorkOptions(mistyped({ retention: { archiveAfterDay: 30 } }))],
  ['listen: must be true or false', () => checkWorkOptions(mistyped({ listen: 'false' }))],
  ['polling: must be an object of options', () => checkPolling(mistyped(5_000))],
  ['timeouts.submit: is no option', () => readTimeouts(mistyped({ submit: 5_000 }))],
  ['timeout: is no option', () => makeSubscription('a', ['transfer.failed'], nothing, mistyped({ timeout: 5 }))],
  ['type: is no option', () => unsubscribe(nothing, 'tx', 'a', mistyped({ type: ['transfer.failed'], discard: true }))],
  ['dryrun: is no option', () => archive(nothing, mistyped({ olderThanMs: 0, dryrun: true }))],
  ['dryrun: is no option', () => readReconcileOptions(mistyped({ since: new Date(), dryrun: true }), new Date())],
  [
    'move: is no option',
    () => createSafetyCommands(nothing, ['default'], logger).adoptDatabase('tx', mistyped({ move: true })),
  ],
  [
    'sinse: is no option',
    () => createAccounts(nothing, { clock, logger }, nothing).watch('tx', 'acme', mistyped({ sinse: new Date() })),
  ],
  ...(['pause', 'resume', 'retryCredentials', 'fundsArrived'] as const).map((command): [string, () => unknown] => [
    'by: is no option; there are actor, reason',
    () => createAccounts(nothing, { clock, logger }, nothing)[command]('tx', 'acme', mistyped({ by: 'ann' })),
  ]),
])('refuses what would silently do nothing, or too much: %s', async (message, run) => {
  await expect((async () => run())()).rejects.toThrow(message)
})

it('takes options that are left out, and those that are there', () => {
  checkWorkOptions({ concurrency: 5, retention: { archiveAfterDays: 30 }, listen: false })
  checkPolling()
  checkPolling({ maxDelayMs: undefined })
  expect(readTimeouts({ submitMs: 5 })).toMatchObject({ submitMs: 5, readMs: 30_000 })
})
