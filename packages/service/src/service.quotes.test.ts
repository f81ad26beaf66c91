import { manualClock } from '@outlay/testing'
import { Pool } from 'pg'
import { expect, it } from 'vitest'
import type { QuoteProvider } from './quotes/port.ts'
import { quoteHint } from './quotes/use.ts'
import type { Rails } from './rails/port.ts'
import { createService } from './service.ts'
import type { ServiceOptions } from './service-options.ts'

/** It never connects. */
const pool = new Pool()
const encryptionKey = new Uint8Array(32)
const simulated = createService({ pool, rails: 'simulated', encryptionKey }).context.rails
/** As rails of a deployer are: nothing of them is simulated. */
const rails: Rails = Object.fromEntries(Object.entries(simulated).filter(([name]) => name !== 'simulation')) as never
const desk: QuoteProvider = { quote: () => Promise.reject(new Error('Nobody asks.')) }
const open = (options: Partial<ServiceOptions>) => {
  const service = createService({ pool, rails, encryptionKey, ...options })
  const paths = service.routes.map(({ method, path }) => `${method} ${path}`)
  return { context: service.context, quotes: paths.filter((path) => path.includes('quotes')) }
}

it('with rails of its own, a service has quotes only with a desk, and a refusal says no more than that', () => {
  const without = open({})
  expect([without.context.quotes, without.quotes, quoteHint(without.context)]).toEqual([undefined, [], undefined])
  const { context, quotes } = open({ quotes: desk })
  expect(context.quotes?.provider).toBe(desk)
  expect(quotes.toSorted()).toEqual([
    'GET /accounts/:account_id/quotes',
    'GET /accounts/:account_id/quotes/:quote_id',
    'POST /accounts/:account_id/quotes',
  ])
  expect(quoteHint(context)).toContain('quote_id')
})

it('rails that are simulated in part let nobody simulate money', () => {
  const paths = (given: Rails) => createService({ pool, rails: given, encryptionKey }).routes.map(({ path }) => path)
  const isSimulation = (path: string) => path.includes('/simulations')
  expect(paths({ ...simulated, submit: rails.submit }).filter(isSimulation)).toEqual([])
  expect(open({ rails: { ...simulated } }).context.quotes).toBeUndefined()
  expect(paths(simulated).filter(isSimulation)).not.toEqual([])
})

it('a desk of a deployer lives in the time of the service, also beside simulated rails', () => {
  const clock = manualClock()
  for (const given of [{}, { rails: 'simulated' }] as const) {
    const { quotes } = open({ ...given, quotes: desk, clock }).context
    expect([quotes?.provider, quotes?.now()]).toEqual([desk, clock.now()])
  }
})
