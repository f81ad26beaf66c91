import { expect, it } from 'vitest'
import { findInaccessible } from '../../test/browser.ts'
import { describePages } from '../../test/chromium.ts'

const hours = Array.from({ length: 24 }, (_, hour) => ({
  ...{ at: new Date(Date.UTC(2026, 0, 9, hour)).toISOString(), gateway: 'default', enqueued: 40 + hour, canceled: 0 },
  ...{ completed: 30 + hour, failed: hour % 3, value: [] },
  toAccepted: { p50Ms: 120, p95Ms: 480 + hour, count: 30 },
  toFinal: hour === 3 ? { p50Ms: null, p95Ms: null, count: 0 } : { p50Ms: 60_000, p95Ms: 190_000, count: 30 },
}))

const gateways = [
  { name: 'default', state: 'healthy', lastAnswerAt: '2026-01-09T09:00:00.000Z', inFlight: 2, waiting: 0 },
  {
    name: 'backup',
    state: 'troubled',
    reason: 'It answers with 503.',
    since: '2026-01-09T09:00:00.000Z',
    inFlight: 0,
    waiting: 7,
  },
]

describePages('charts of the pages', ({ visit }) => {
  it.each(['light', 'dark'] as const)(
    'are drawn of counts, with a table beside them, in the theme %s',
    async (theme) => {
      const { page, open, errors, context } = await visit({ theme })
      await context.route('**/api/stats*', (route) => route.fulfill({ json: { data: hours, step: 'hour' } }))
      await context.route('**/api/gateways', (route) => route.fulfill({ json: { data: gateways } }))
      await open('/overview')
      await page.locator('canvas').nth(2).waitFor()
      await page.getByText('It answers with 503.').waitFor()
      await page.getByText('The same as a table').click()
      expect(await page.locator('.panel', { hasText: 'Throughput' }).locator('tbody tr').count()).toBe(24)
      expect(await findInaccessible(page)).toEqual([])
      expect(errors).toEqual([])
    },
  )
})
