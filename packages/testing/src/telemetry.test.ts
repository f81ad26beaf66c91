import { expect, test } from 'vitest'
import { recordingTelemetry } from './telemetry.ts'

const depth = { name: 'depth', unit: '1', description: 'How deep.' }

test('recording telemetry keeps spans with their last values, in the order of their ends', async () => {
  const telemetry = recordingTelemetry()
  const failing = telemetry.span('outer', { kind: 'internal', attributes: { a: 1, b: 1 } }, async (outer) => {
    await telemetry.span('inner', { kind: 'client' }, async (inner) => inner.fail('timeout'))
    outer.rename('outermost')
    outer.set({ b: 2 })
    throw new Error('over')
  })
  await expect(failing).rejects.toThrow('over')
  expect(telemetry.spans).toMatchObject([
    { name: 'inner', errors: ['timeout'], attributes: {} },
    { name: 'outermost', errors: [], attributes: { a: 1, b: 2 } },
  ])
})

test('recording telemetry reads gauges until they are ended', async () => {
  const telemetry = recordingTelemetry()
  const end = telemetry.gauges([depth], async () => [{ instrument: depth, value: 7 }])
  expect(await telemetry.readGauges()).toEqual([{ instrument: depth, value: 7 }])
  end()
  expect(await telemetry.readGauges()).toEqual([])
})
