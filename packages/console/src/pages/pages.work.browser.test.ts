import { spawnNode, waitUntil } from '@outlay/testing'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { dialogOf } from '../../test/browser.ts'
import { describePages } from '../../test/chromium.ts'
import { silenceJobs } from '../../test/queue.ts'

const why = 'the bank wrote'

describePages('work in the pages', ({ host, visit }) => {
  const { engine } = host
  const records = async () => (await engine.audit.list()).map(({ command, actor, reason }) => [command, actor, reason])
  const state = (page: Page, text: string) => page.locator('.page-head .badge', { hasText: text }).waitFor()

  it('shows a worker that is killed, and the transfer that another one brings to its end, without a reload', async () => {
    const { id } = await host.enqueue()
    const doomed = await spawnNode(new URL('../../test/worker-main.ts', import.meta.url), {
      env: { DATABASE_URL: host.pool.options.connectionString },
    })
    const stage = async () => (await engine.transfers.get(id))?.stage
    await waitUntil(async () => ((await stage()) === 'submitting' ? true : undefined))
    const { page, open, errors } = await visit()
    await page.clock.install()
    await open(`/transfers/${id}`)
    await page.getByText('Attempt 1: no answer yet').waitFor()
    /** Lets time pass for the page alone, until it has read this. */
    const showsIn = (text: string) =>
      waitUntil(
        async () => {
          await page.clock.fastForward(20_000)
          return (await page.getByText(text).count()) > 0 ? true : undefined
        },
        { timeoutMs: 120_000 },
      )
    await doomed.kill('SIGKILL')
    await host.pool.query(`update outlay.transfer set updated_at = now() - interval '2 minutes'`)
    await showsIn('It waits for the answer to an attempt that its worker holds, or lost when it died')
    await silenceJobs(host.pool)
    await host.again().start()
    await showsIn('Attempt 2: accepted')
    await showsIn('Completed')
    await state(page, 'Complete')
    expect(errors).toEqual([])
  }, 240_000)

  it('decides about a return that contradicts its transfer, and shows what was paid', async () => {
    const { id } = await host.enqueue()
    const worker = host.again()
    await worker.start()
    const done = await waitUntil(async () => {
      const found = await engine.transfers.get(id)
      return found?.status === 'complete' ? found : undefined
    })
    await worker.stop()
    const seen = (more: object) => ({
      remoteId: done.remoteId ?? '',
      status: 'complete' as const,
      failure: null,
      ...more,
    })
    const unknown = { amount: null, occurredAt: '2026-01-09T09:00:00.000Z' }
    const returns = ['R01', 'R10'].map((code) => ({ code, ...unknown }))
    await host.commit((tx) => engine.transfers.observe(tx, 'acme', [seen({ returns })]))
    const { page, open, errors } = await visit()
    await open(`/transfers/${id}`)
    const panel = page.locator('section.panel', { hasText: 'What came back and contradicts it' })
    await panel.getByText('The service does not say how much.').first().waitFor()
    await panel.getByRole('button', { name: /^It came back R01/ }).click()
    const dialog = dialogOf(page)
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(why)
    expect(await dialog.getByRole('button', { name: 'Book it' }).isDisabled()).toBe(true)
    await dialog.getByRole('textbox', { name: /Amount/ }).fill('99')
    await dialog.getByRole('button', { name: 'Book it' }).click()
    await dialog.getByRole('alert').getByText('give what is left of it at most').waitFor()
    await dialog.getByRole('textbox', { name: /Amount/ }).fill('4.50')
    await dialog.getByRole('button', { name: 'Book it' }).click()
    await dialog.waitFor({ state: 'detached' })
    await panel.getByText('R01').waitFor({ state: 'detached' })
    await panel.getByRole('button', { name: /^Dismiss R10/ }).click()
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(why)
    await dialog.getByRole('button', { name: 'Dismiss it' }).click()
    await panel.waitFor({ state: 'detached' })
    const { rows } = await host.pool.query(
      'select code, amount::text, resolved_by from outlay.transfer_return order by code',
    )
    expect(rows).toMatchObject([
      { code: 'R01', amount: '4.50', resolved_by: 'ada' },
      { code: 'R10', resolved_by: 'ada' },
    ])
    expect(await records()).toEqual(Array(2).fill(['transfers.resolve_return', 'ada', why]))
    expect(errors).toEqual([])
  })

  it('resubmits to another address', async () => {
    const { id } = await host.enqueue()
    await host.commit((tx) => engine.transfers.cancel(tx, id))
    const { page, open } = await visit()
    await open(`/transfers/${id}`)
    await page.getByRole('button', { name: 'Resubmit', exact: true }).click()
    const dialog = dialogOf(page)
    await dialog.getByRole('textbox', { name: /^Address/ }).fill('01J0000000000000000000000C')
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(why)
    await dialog.getByRole('button', { name: 'Resubmit', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const again = (await engine.transfers.get(id))?.resubmittedAs ?? ''
    expect((await engine.transfers.get(again))?.request.destination).toMatchObject({
      addressId: '01J0000000000000000000000C',
    })
  })

  it('is done with the keyboard alone: from the overview to an approval', async () => {
    await host.commit((tx) =>
      engine.policies.set(tx, [{ name: 'four-eyes', approvals: [{}] }], { actor: 'o', reason: why }),
    )
    const { id } = await host.enqueue({ createdBy: 'carl' })
    const { page, open } = await visit()
    await open('/overview')
    /** Presses Tab until what has the focus is called so. */
    const goTo = async (name: RegExp) => {
      for (let step = 0; step < 80; step += 1) {
        await page.keyboard.press('Tab')
        const text = await page.evaluate(
          'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent',
        )
        if (name.test(String(text).trim())) return
      }
      throw new Error(`Nothing that Tab reaches is called ${name}.`)
    }
    await goTo(/^Approvals/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Approvals' }).waitFor()
    await page.getByRole('button', { name: /^Approve 12.50/ }).waitFor()
    await goTo(/^Approve 12.50/)
    await page.keyboard.press('Enter')
    const dialog = dialogOf(page)
    await dialog.getByText('As you see it in the queue.').waitFor()
    await goTo(/^Approve$/)
    await page.keyboard.press('Enter')
    await page.getByText('Nothing waits for approval').waitFor()
    expect(await engine.transfers.holds(id)).toMatchObject({ approvals: [{ actor: 'ada' }] })
    expect((await engine.transfers.get(id))?.stage).toBe('queued')
  })
})
