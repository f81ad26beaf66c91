import type { HealthFacts } from '@outlay/adapters-pg'
import { describe, expect, it } from 'vitest'
import { healthyConnection as connection, healthyFacts as well } from '../../test/healthy.ts'
import { diagnose } from './diagnosis.ts'
import { formatFindings } from './doctor.ts'

const hour = 3_600_000
const codes = (facts: Partial<HealthFacts>, at = connection) =>
  diagnose({ ...well, ...facts }, at).map(({ code, severity }) => `${severity} ${code}`)

describe('a diagnosis', () => {
  it('of a healthy database is empty', () => {
    expect(codes({})).toEqual([])
    expect(formatFindings([])).toBe('All is well.')
  })

  it('finds clocks that differ by more than the query took', () => {
    const server = (clockSkewMs: number, clockErrorMs = 1) => ({
      server: { ...well.server, clockSkewMs, clockErrorMs },
    })
    expect(codes(server(3_000))).toEqual(['warning clock_skew'])
    expect(codes(server(-60_000))).toEqual(['serious clock_skew'])
    expect(codes(server(3_000, 2_000))).toEqual([])
    const [finding] = diagnose({ ...well, ...server(-60_000) }, connection)
    expect(finding?.what).toContain('1m ahead of that of Postgres')
    expect(finding?.cure).toContain('NTP')
  })

  it('finds what does not get through from its first attempt on, with the account and the client', () => {
    const one = {
      reason: 'unreachable',
      accountId: 'acme',
      gateway: 'default',
      client: 'c1 https://pay.example/',
      count: 2,
      isSubmitted: false,
      sample: 'a',
    } as const
    const group = { ...one, sinceMs: 5_000, lastDetail: 'not sent: connection refused', groups: 1 }
    const [finding] = diagnose({ ...well, obstructed: [group] }, connection)
    expect(finding).toMatchObject({ code: 'unreachable', severity: 'warning' })
    expect(finding?.what).toContain('2 transfers of acme by c1 https://pay.example/ for 5s, connection refused.')
    expect(codes({ obstructed: [{ ...group, sinceMs: 300_000 }] })).toEqual(['serious unreachable'])
    expect(codes({ obstructed: [{ ...group, reason: 'misconfigured' }] })).toEqual(['serious misconfigured'])
    const polled = { ...group, isSubmitted: true, lastDetail: null }
    expect(diagnose({ ...well, obstructed: [polled] }, connection)[0]?.what).toContain(
      '2 submitted transfers of acme by c1 https://pay.example/, whose status is not read, for 5s.',
    )
    const many = Array.from({ length: 100 }, (_, index) => ({
      ...group,
      accountId: `a${index}`,
      client: null,
      groups: 250,
    }))
    expect(diagnose({ ...well, obstructed: many }, connection)[0]?.what).toMatch(/of a4 for 5s.*; and 245 more\.$/)
  })

  it('finds of what another amount was paid, and of what more came back than that', () => {
    const one = { count: 2, samples: ['a', 'b'], oldestMs: hour }
    const paid = (more: object) => ({ transfers: { ...well.transfers, ...more } })
    expect(codes(paid({ paidOtherwise: one }))).toEqual(['warning paid_another_amount'])
    expect(codes(paid({ paidOtherwise: one, returnedBeyond: one }))).toEqual([
      'serious returned_more_than_paid',
      'warning paid_another_amount',
    ])
  })

  it('finds what no other gateway takes over after all', () => {
    const failoverEnded = { count: 6, samples: ['a', 'b'], oldestMs: hour }
    const facts = { ...well, transfers: { ...well.transfers, failoverEnded } }
    expect(diagnose(facts, connection)).toMatchObject([
      { code: 'failover_ended', severity: 'warning', what: expect.stringContaining('6 transfers') },
    ])
  })

  it('finds entries of the audit that no worker has added to the chain for five minutes', () => {
    const unchained = (oldestMs: number) => ({ unchained: { count: 1, samples: ['7'], oldestMs } })
    expect(codes(unchained(hour / 12 - 1))).toEqual([])
    expect(codes(unchained(hour / 12))).toEqual(['warning audit_unchained'])
    expect(codes(unchained(hour))).toEqual(['serious audit_unchained'])
  })

  it('finds what nobody has approved or released for three days', () => {
    const held = (oldestMs: number) => ({
      transfers: { ...well.transfers, held: { count: 2, samples: ['a', 'b'], oldestMs } },
    })
    expect(codes(held(71 * hour))).toEqual([])
    expect(codes(held(72 * hour))).toEqual(['warning held_long'])
    const [finding] = diagnose({ ...well, ...held(100 * hour) }, connection)
    expect(finding?.what).toContain('2 transfers held until people act')
  })

  it('finds a replica, and a connection without notifications', () => {
    expect(codes({ server: { ...well.server, readOnly: true } })).toEqual(['serious read_only'])
    expect(codes({}, { notified: false, pooled: false })).toEqual(['warning listen_unheard'])
  })

  it('finds a subscription with events that no process has attended for hours, and names the command that removes it', () => {
    const idle = {
      name: 'old-books',
      types: [],
      undelivered: 0,
      failing: 0,
      deadLetters: 0,
      oldestAt: null,
      lagMs: null,
    }
    const one = { ...idle, lastError: null, unattendedMs: 30 * hour }
    expect(codes({ subscriptions: [one] })).toEqual([])
    expect(codes({ subscriptions: [{ ...one, undelivered: 2, unattendedMs: 1_000 }] })).toEqual([])
    expect(codes({ subscriptions: [{ ...one, undelivered: 2, unattendedMs: 2 * hour }] })).toEqual([
      'warning subscription_unattended',
    ])
    const [finding] = diagnose({ ...well, subscriptions: [{ ...one, undelivered: 2 }] }, connection)
    expect(finding?.severity).toBe('serious')
    expect(finding?.cure).toContain('outlay subscriptions remove old-books --discard')
  })

  it('finds a subscription whose handler fails before one that is only behind', () => {
    const one = { name: 'books', types: [], undelivered: 3, failing: 0, deadLetters: 0, oldestAt: null, lagMs: 90_000 }
    const books = { ...one, lastError: 'Error: broken', unattendedMs: 0 }
    expect(codes({ subscriptions: [books] })).toEqual([])
    const [finding] = diagnose({ ...well, subscriptions: [{ ...books, failing: 3 }] }, connection)
    expect(finding).toMatchObject({ severity: 'warning', code: 'subscription_lag' })
    expect(finding?.what).toContain('(3 failing). Last error: Error: broken')
    expect(codes({ subscriptions: [{ ...books, failing: 3, lagMs: 50_000 }] })).toEqual([])
  })

  it('finds watched accounts whose lists cannot be read for a while, or that nobody reads', () => {
    const one = { accountId: 'acme', failures: 0, overdueMs: 0 }
    const watches = (...unreadWatches: HealthFacts['unreadWatches'][number][]) => ({ unreadWatches })
    expect(codes(watches(one, { ...one, failures: 5 }, { ...one, overdueMs: 60_000 }))).toEqual([])
    expect(codes(watches({ ...one, failures: 6 }))).toEqual(['warning watched_unread'])
    expect(codes(watches({ ...one, failures: 6 }, { ...one, failures: 13 }))).toEqual(['serious watched_unread'])
    expect(codes(watches({ ...one, overdueMs: 2 * hour }))).toEqual(['serious watched_unread'])
    const many = Array.from({ length: 7 }, () => ({ ...one, failures: 20 }))
    const [finding] = diagnose({ ...well, unreadWatches: many }, connection)
    expect(finding?.what).toContain('7 watched accounts whose list is not read: acme (20 failures in a row), ')
    expect(finding?.what).toContain(' and 2 more.')
  })

  it('finds each kind of snapshot holder, and names how to end it', () => {
    const holder = { name: '4711', detail: 'psql, idle in transaction', ageMs: 2 * hour, transactions: 5 }
    const kinds = ['session', 'prepared transaction', 'replication slot'] as const
    const findings = diagnose({ ...well, snapshots: kinds.map((kind) => ({ ...holder, kind })) }, connection)
    expect(findings.map((finding) => finding.severity)).toEqual(['serious', 'serious', 'serious'])
    expect(findings[0]?.cure).toContain('pg_terminate_backend(4711)')
    expect(codes({ snapshots: [{ ...holder, kind: 'session', ageMs: 1_000 }] })).toEqual([])
    const slot = { ...holder, kind: 'replication slot' as const, ageMs: null, transactions: 2_000_000 }
    expect(codes({ snapshots: [slot] })).toEqual(['warning snapshot_held'])
  })

  it('finds tables that are not vacuumed', () => {
    const table = { table: 'outlay.delivery', liveRows: 100, deadRows: 50_000, vacuumedMs: hour, autovacuum: true }
    expect(codes({ tables: [table] })).toEqual(['warning vacuum_lag'])
    expect(codes({ tables: [{ ...table, liveRows: 10_000_000 }] })).toEqual([])
    expect(codes({ server: { ...well.server, autovacuum: false } })).toEqual(['serious autovacuum_off'])
  })

  it('puts serious findings first, and counts them', () => {
    const due = { count: 3, samples: ['01J'], oldestMs: 10 * 60_000 }
    const facts = { ...well, jobs: { ...well.jobs, due, missing: { count: 7, samples: ['01K'], oldestMs: 1 } } }
    const findings = diagnose(facts, connection)
    expect(findings.map((finding) => finding.code)).toEqual(['job_missing', 'workers_behind'])
    const text = formatFindings(findings)
    expect(text).toContain('7 transfers without a job: 01K and 6 more.')
    expect(text).toMatch(/SERIOUS {2}job_missing\n {2}.*\n {2}→ .*/)
    expect(text).toContain('2 findings, 1 serious.')
  })
})
