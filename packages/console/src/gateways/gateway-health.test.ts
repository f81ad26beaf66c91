import type { GatewayFacts } from '@outlay/adapters-pg'
import type { SendingState } from '@outlay/core'
import { expect, it } from 'vitest'
import { judgeGateway } from './gateway-health.ts'

const at = '2026-01-01T00:00:00.000000Z'
const quiet: GatewayFacts = {
  ...{ name: 'default', attendedAt: at, unattendedMs: 5_000, inFlight: 0, waiting: 0 },
  ...{ obstructed: 0, obstacle: null, obstructedSince: null, lastAnswerAt: null },
}
const open: SendingState = { knownDatabase: null, unfamiliar: null, fence: null, stops: [] }
const stop = (scope: 'all' | 'gateway' | 'account', name: string | null): SendingState => ({
  ...open,
  stops: [{ scope, name, since: at, reason: 'an audit', actor: 'ada' } as SendingState['stops'][number]],
})

it.each([
  ['one that answered', { lastAnswerAt: at }, open, 'healthy', undefined],
  ['one that was not asked', {}, open, 'unproven', 'It has answered nothing within the last hour.'],
  ['one that nobody has and nobody needs', { unattendedMs: null, attendedAt: null }, open, 'unproven', undefined],
  ['one that nobody has', { unattendedMs: 200_000, waiting: 2, lastAnswerAt: at }, open, 'troubled', undefined],
  [
    'one that cannot be reached',
    { obstructed: 2, obstacle: 'unreachable', obstructedSince: at, lastAnswerAt: at },
    open,
    'troubled',
    '2 transfers do not get through, because it cannot be reached.',
  ],
  [
    'one that is stopped',
    { lastAnswerAt: at },
    stop('gateway', 'default'),
    'troubled',
    'Sending is stopped by ada: an audit',
  ],
  ['one of all that are stopped', { lastAnswerAt: at }, stop('all', null), 'troubled', undefined],
  ['one beside a stopped one', { lastAnswerAt: at }, stop('gateway', 'other'), 'healthy', undefined],
  ['one with an account that is stopped', { lastAnswerAt: at }, stop('account', 'default'), 'healthy', undefined],
  [
    'one behind a fence',
    { lastAnswerAt: at },
    { ...open, fence: { since: at, reason: null, actor: null } },
    'troubled',
    undefined,
  ],
  ['one of another database', { lastAnswerAt: at }, { ...open, unfamiliar: 'other_server' }, 'troubled', undefined],
] as const)('%s', (_, facts, sending, state, reason) => {
  const health = judgeGateway({ ...quiet, ...facts }, sending as SendingState)
  expect(health.state).toBe(state)
  if (reason !== undefined) expect(health.reason).toBe(reason)
})
