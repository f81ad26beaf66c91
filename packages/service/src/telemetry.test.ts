import { recordingTelemetry } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { countRailException, gaugeRailExceptions, traceDelivery, traceRequest } from './telemetry.ts'

const theirs = `00-${'b'.repeat(32)}-00f067aa0ba902b7-01`
const inTheirs = `00-${'b'.repeat(32)}-b7ad6b7169203331-01`
const elsewhere = `00-${'c'.repeat(32)}-b7ad6b7169203331-01`

describe('a request', () => {
  const answered = async () => ({ route: '/accounts/:account_id', status: 200 })

  it.each([
    ['continues the trace of its caller', undefined, theirs, theirs],
    ['does so within another trace too', elsewhere, theirs, theirs],
    ['is a child of an outer server’s span that already continues that trace', inTheirs, theirs, undefined],
    ['is below a server around this one when its caller has no trace', elsewhere, undefined, undefined],
  ])('%s', async (_, current, traceparent, parent) => {
    const telemetry = recordingTelemetry(current)
    await traceRequest(telemetry, { method: 'GET', traceparent }, answered)
    expect(telemetry.spans).toMatchObject([{ name: 'GET /accounts/:account_id', errors: [] }])
    expect(telemetry.spans[0]?.options).toMatchObject({ kind: 'server', parent })
  })

  it('is named by its method alone without a route', async () => {
    const telemetry = recordingTelemetry()
    await traceRequest(telemetry, { method: 'GET', traceparent: undefined }, async () => ({
      route: undefined,
      status: 404,
    }))
    expect(telemetry.spans).toMatchObject([{ name: 'GET', errors: [], attributes: { 'http.route': undefined } }])
  })

  it('that the service fails to answer is an error', async () => {
    const telemetry = recordingTelemetry()
    await traceRequest(telemetry, { method: 'POST', traceparent: theirs }, async () => ({ route: '/x', status: 503 }))
    expect(telemetry.spans).toMatchObject([{ errors: ['503'], attributes: { 'http.response.status_code': 503 } }])
    const outcome = { 'http.request.method': 'POST', 'http.route': '/x', 'error.type': '503' }
    expect(telemetry.values).toMatchObject([{ instrument: 'http.server.request.duration', attributes: outcome }])
  })
})

describe('a delivery of a webhook', () => {
  it('continues the trace of its event, and propagates its own context', async () => {
    const telemetry = recordingTelemetry()
    const sent: unknown[] = []
    await traceDelivery(telemetry, { traceparent: theirs, attempt: 2 }, async (traceparent) => {
      sent.push(traceparent)
      return { status: 500 }
    })
    expect(telemetry.spans).toMatchObject([
      { name: 'outlay deliver webhook', errors: ['500'], options: { parent: theirs } },
    ])
    expect(sent).toEqual([telemetry.spans[0]?.traceparent])
  })

  it('sends no context without telemetry', async () => {
    const answer = await traceDelivery(undefined, { traceparent: theirs, attempt: 1 }, async (traceparent) => {
      expect(traceparent).toBeUndefined()
      return { status: 204 }
    })
    expect(answer).toEqual({ status: 204 })
  })
})

describe('a fact of a rail that could not be applied', () => {
  it('is counted by its kind, its rail and the reason', () => {
    const telemetry = recordingTelemetry()
    countRailException(telemetry, { kind: 'settled', rail: 'wire', reason: 'amount_mismatch' })
    countRailException(undefined, { kind: 'settled', rail: 'wire', reason: 'amount_mismatch' })
    const attributes = { 'outlay.fact': 'settled', 'outlay.rail': 'wire', 'outlay.reason': 'amount_mismatch' }
    expect(telemetry.values).toMatchObject([{ instrument: 'outlay.rail.exceptions', value: 1, attributes }])
  })

  it('is in a gauge until a person has resolved it', async () => {
    const telemetry = recordingTelemetry()
    gaugeRailExceptions(telemetry, async () => [{ reason: 'other_account', count: 2 }])
    expect(await telemetry.readGauges()).toMatchObject([
      {
        instrument: { name: 'outlay.rail.exceptions.open' },
        value: 2,
        attributes: { 'outlay.reason': 'other_account' },
      },
    ])
  })
})
