import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { httpWebhooks } from '@outlay/http-client'
import { startSandbox } from '@outlay/service/sandbox'
import { addresses, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'
import { type Host, migrateHost } from './host.ts'
import { nestSpans, openRecorder, type Recorder } from './recorder.ts'
import { creates, openScene } from './scene.ts'
import { openStageHost, type Stage, seedClient, setStage, settleAll } from './stage.ts'

const postTransfer = 'POST /accounts/{account_id}/transfers'
const postTransferRoute = 'POST /accounts/:account_id/transfers'

/** What a counter has counted: it begins at 0 for everything that it may count. */
const counted = async (recorder: Recorder, name: string) =>
  (await recorder.points(name)).filter(({ value }) => value !== 0)

describe('telemetry', async () => {
  nestSpans()
  const hosts = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase()
  const service = openRecorder('service')
  const sandbox = await startSandbox({ databaseUrl: services.url, telemetry: service.telemetry })
  afterAll(() => sandbox.stop())

  it('makes one trace of a payout, from the host that enqueues it to the handler in another process', async () => {
    const [web, worker] = [openRecorder('web'), openRecorder('worker')]
    const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
    const databaseUrl = await hosts.another()
    const webHost = openStageHost(stage, databaseUrl, sandbox.url, { telemetry: web.telemetry })
    let secret = ''
    const workerHost = openStageHost(stage, databaseUrl, sandbox.url, {
      telemetry: worker.telemetry,
      webhooks: httpWebhooks({ secrets: () => secret }),
    })
    const { host, handled } = withOwnSpan(workerHost, worker)
    await using inbox = await openInbox(host, stage)
    const created = await stage.client.webhooks.create(stage.accountId, { url: inbox.url, eventTypes: ['transfer.*'] })
    secret = created.secret ?? ''

    // The transaction is the host's, and so is the span around it.
    const transfer = await web.telemetry.span('pay invoice', { kind: 'server', parent: null }, () =>
      webHost.transaction((tx) => webHost.engine.transfers.enqueue(tx, stage.payout())),
    )
    await host.engine.start()
    await settleAll(stage, host)
    await handled

    const [root, enqueue] = [await web.find('pay invoice'), await web.find('outlay enqueue')]
    expect(enqueue).toMatchObject({ parentId: root.id, attributes: { 'outlay.transfer.id': transfer.id } })
    const ofTrace = ({ traceId }: { readonly traceId: string }) => traceId === root.traceId
    const submit = await worker.find('outlay submit')
    expect(submit).toMatchObject({ parentId: enqueue.id, error: undefined })
    expect(submit.attributes).toMatchObject({
      'outlay.transfer.id': transfer.id,
      'outlay.account.id': stage.accountId,
      'outlay.attempt': 1,
      'outlay.outcome': 'accepted',
      'outlay.rail': 'base',
    })
    const request = await worker.find(postTransfer)
    expect(request.parentId).toBe(submit.id)
    const answer = await service.find(postTransferRoute, ofTrace)
    expect(answer.parentId).toBe(request.id)
    const inner = await service.find('outlay enqueue', ofTrace)
    expect(inner.parentId).toBe(answer.id)
    expect((await service.find('outlay submit', ofTrace)).parentId).toBe(inner.id)
    expect((await service.find('outlay handle service', ofTrace)).parentId).toBe(inner.id)
    const handle = await worker.find('outlay handle invoices')
    expect(handle).toMatchObject({ parentId: enqueue.id, error: undefined })
    expect(handle.attributes).toMatchObject({ 'outlay.event.type': 'transfer.completed' })
    expect((await worker.find('update invoice')).parentId).toBe(handle.id)
    for (const span of [submit, request, answer, inner, handle]) expect(span.traceId).toBe(root.traceId)

    // Webhooks continue the trace; their receiver is linked to it.
    const deliveries = await waitUntil(() => {
      const found = service.spans('outlay deliver webhook').filter(ofTrace)
      return found.length >= 3 ? found : undefined
    })
    await waitUntil(() => worker.spans('outlay webhook').length >= deliveries.length)
    const linked = worker.spans('outlay webhook').flatMap(({ links }) => links)
    expect(linked.toSorted()).toEqual(deliveries.map(({ id }) => id).toSorted())
    // Polls are separate traces, linked to their payouts.
    for (const poll of worker.spans('outlay poll')) {
      expect(poll.traceId).not.toBe(root.traceId)
      expect(poll.links).toEqual([enqueue.id])
    }
    await host.close()
    await webHost.close()
    await stage.client.close()
  })

  it('makes attempts siblings in one trace when the outcome of one is unknown', async () => {
    const recorder = openRecorder('host')
    await using scene = await openScene(sandbox, await hosts.another(), { host: { telemetry: recorder.telemetry } })
    scene.proxy.faults.add({ ...creates, nth: 1, fault: { kind: 'drop_response' } })
    const { id } = await scene.enqueue()
    await scene.host.engine.start()
    await scene.arrive(id)
    await scene.proveOne()
    const enqueue = await recorder.find('outlay enqueue')
    const attempts = recorder.spans('outlay submit')
    expect(attempts.map(({ parentId }) => parentId)).toEqual([enqueue.id, enqueue.id])
    expect(attempts.map(({ attributes }) => [attributes['outlay.attempt'], attributes['outlay.outcome']])).toEqual([
      [1, 'unknown'],
      [2, 'accepted'],
    ])
    expect(attempts.map(({ error }) => error)).toEqual(['unknown', undefined])
    const requests = recorder.spans(postTransfer)
    expect(requests.map(({ parentId }) => parentId)).toEqual(attempts.map((attempt) => attempt.id))
    expect(requests.map(({ error }) => error)).toEqual(['connection', undefined])
    // The service was there twice: the second request got the first one's answer.
    const answers = service.spans(postTransferRoute).filter(({ traceId }) => traceId === enqueue.traceId)
    expect(answers.map(({ parentId }) => parentId)).toEqual(requests.map((request) => request.id))
  })

  it('has the registration of a counterparty in the trace of its payout, beside the submission', async () => {
    const recorder = openRecorder('host')
    await using scene = await openScene(sandbox, await hosts.another(), { host: { telemetry: recorder.telemetry } })
    const address = { name: 'Grace', address: addresses.evm[1], transferTypes: ['base'] }
    await scene.enqueue({ destination: { address, valueType: 'USDC', transferType: 'base' } })
    await scene.host.engine.start()
    await settleAll(scene.stage, scene.host)
    const enqueue = await recorder.find('outlay enqueue')
    const [register, submit] = [await recorder.find('outlay register'), await recorder.find('outlay submit')]
    expect(register).toMatchObject({ parentId: enqueue.id, error: undefined })
    expect(register.attributes).toMatchObject({ 'outlay.attempt': 1, 'outlay.outcome': 'accepted' })
    expect(submit).toMatchObject({ parentId: enqueue.id, attributes: { 'outlay.attempt': 2 } })
    const posted = await recorder.find('POST /accounts/{account_id}/addresses/external')
    expect(posted).toMatchObject({ traceId: enqueue.traceId, parentId: register.id })
    for (const step of ['register', 'submit']) {
      expect(await counted(recorder, `outlay.${step}.outcomes`)).toMatchObject([
        { value: 1, attributes: { 'outlay.rail': 'base', 'outlay.outcome': 'accepted' } },
      ])
    }
  })

  it('makes a separate trace of each page of the list of an account', async () => {
    const recorder = openRecorder('host')
    await using scene = await openScene(sandbox, await hosts.another(), { host: { telemetry: recorder.telemetry } })
    const { host, stage } = scene
    await host.transaction((tx) => host.engine.accounts.watch(tx, stage.accountId))
    await host.engine.start()
    const read = await recorder.find('outlay read list')
    expect(read).toMatchObject({ parentId: undefined, attributes: { 'outlay.account.id': stage.accountId } })
    const isBelow = ({ parentId }: { readonly parentId: string | undefined }) => parentId === read.id
    expect(await recorder.find('GET /accounts/{account_id}/transfers', isBelow)).toMatchObject({ error: undefined })
  })

  it('makes a span of each run of a handler, and an error of one that fails', async () => {
    const recorder = openRecorder('host')
    await using scene = await openScene(sandbox, await hosts.another(), { host: { telemetry: recorder.telemetry } })
    let runs = 0
    scene.host.engine.subscribe('shaky', ['transfer.completed'], async () => {
      runs += 1
      if (runs === 1) throw new RangeError('The books are closed.')
    })
    await scene.enqueue()
    await scene.host.engine.start()
    await scene.proveOne()
    const enqueue = await recorder.find('outlay enqueue')
    await waitUntil(() => recorder.spans('outlay handle shaky').length === 2, { timeoutMs: 60_000 })
    const handles = recorder.spans('outlay handle shaky')
    expect(handles.map(({ parentId, error }) => [parentId, error])).toEqual([
      [enqueue.id, 'RangeError'],
      [enqueue.id, undefined],
    ])
    expect(await counted(recorder, 'outlay.handler.failures')).toMatchObject([
      { value: 1, attributes: { 'outlay.subscription': 'shaky', 'error.type': 'RangeError' } },
    ])
  })

  it('gives each transfer of a batch the context of the one enqueue', async () => {
    const recorder = openRecorder('host')
    await using scene = await openScene(sandbox, await hosts.another(), { host: { telemetry: recorder.telemetry } })
    const { host, stage } = scene
    await host.transaction((tx) =>
      host.engine.transfers.enqueueMany(tx, [stage.payout(), stage.payout(), stage.payout()]),
    )
    await host.engine.start()
    await settleAll(stage, host)
    const enqueue = await recorder.find('outlay enqueue')
    expect(enqueue.attributes['messaging.batch.message_count']).toBe(3)
    const submits = recorder.spans('outlay submit')
    expect(submits.map(({ parentId }) => parentId)).toEqual([enqueue.id, enqueue.id, enqueue.id])
    expect(new Set(submits.map(({ attributes }) => attributes['outlay.transfer.id'])).size).toBe(3)
  })

  it('measures outcomes, durations and what waits', async () => {
    const recorder = openRecorder('host')
    await using scene = await openScene(sandbox, await hosts.another(), { host: { telemetry: recorder.telemetry } })
    const { host, stage } = scene
    await scene.enqueue()
    await scene.enqueue({ notBefore: '2999-01-01T00:00:00Z' })
    await host.engine.start()
    await waitUntil(
      async () => {
        await stage.advance(60)
        return (await host.engine.backlog()).settled === 1
      },
      { timeoutMs: 60_000 },
    )
    const base = { 'outlay.rail': 'base' }
    const outcomes = await recorder.points('outlay.submit.outcomes')
    expect(new Set(outcomes.map(({ attributes }) => attributes['outlay.outcome'])).size).toBe(7)
    expect(await counted(recorder, 'outlay.submit.outcomes')).toMatchObject([
      { value: 1, attributes: { ...base, 'outlay.outcome': 'accepted' } },
    ])
    expect(await recorder.points('outlay.submit.duration')).toMatchObject([{ value: { count: 1 }, attributes: base }])
    expect(await recorder.points('outlay.settle.duration')).toMatchObject([
      { value: { count: 1 }, attributes: { ...base, 'outlay.status': 'complete' } },
    ])
    const stages = await recorder.points('outlay.transfer.backlog')
    expect(stages.map(({ attributes, value }) => [attributes['outlay.stage'], value])).toEqual([
      ['held', 0],
      ['queued', 1],
      ['submitting', 0],
      ['awaiting_funds', 0],
      ['submitted', 0],
      ['blocked', 0],
    ])
    expect(await recorder.points('outlay.transfer.unsubmitted.age')).toMatchObject([{ value: 0 }])
    const lags = await recorder.points('outlay.subscription.lag')
    expect(lags.map(({ attributes }) => attributes['outlay.subscription']).toSorted()).toEqual(['effects', 'news'])
    expect(await recorder.points('http.client.request.duration')).not.toEqual([])
    expect(await service.points('http.server.request.duration')).not.toEqual([])
  })

  it('costs a host without it nothing: no context is stored', async () => {
    const databaseUrl = await hosts.another()
    await using scene = await openScene(sandbox, databaseUrl)
    await scene.enqueue()
    await scene.host.engine.start()
    await scene.proveOne()
    expect((await scene.host.pool.query('select 1 from outlay.trace_context')).rowCount).toBe(0)
  })
})

describe('the API of OpenTelemetry', () => {
  /** Imports packages where OpenTelemetry cannot be found. */
  const load = (...names: readonly string[]) => {
    const script = `
      import { registerHooks } from 'node:module'
      registerHooks({
        resolve(specifier, context, next) {
          if (specifier.startsWith('@opentelemetry/')) throw new Error('loads ' + specifier)
          return next(specifier, context)
        },
      })
      for (const name of ${JSON.stringify(names)}) await import(name)
      console.log('loaded')`
    return promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname })
  }

  it('is loaded by its own package and by no other', async () => {
    const others = ['@outlay/core', '@outlay/adapters-pg', '@outlay/http-client', '@outlay/service']
    expect((await load(...others)).stdout).toBe('loaded\n')
    await expect(load('@outlay/opentelemetry')).rejects.toThrow('loads @opentelemetry/api')
  })
})

/** Subscribes a handler that starts a span of the host's own. */
function withOwnSpan(
  host: Host,
  { tracerProvider }: Recorder,
): { readonly host: Host; readonly handled: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  host.engine.subscribe('invoices', ['transfer.completed'], async () => {
    tracerProvider.getTracer('host').startSpan('update invoice').end()
    resolve()
  })
  return { host, handled: promise }
}

/** A server of the host that receives webhooks. */
async function openInbox({ engine }: Host, { accountId }: Stage): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(async (request, response) => {
    const { status } = await engine.webhook({ body: await buffer(request), headers: request.headers }, { accountId })
    response.writeHead(status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
