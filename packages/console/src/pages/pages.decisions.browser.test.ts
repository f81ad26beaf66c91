import { postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import type pg from 'pg'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { dialogOf, findInaccessible } from '../../test/browser.ts'
import { describePages } from '../../test/chromium.ts'
import { admin } from '../../test/host.ts'

const reason = 'the bank wrote'

describePages(
  'decisions in the pages',
  ({ host, visit }) => {
    const { engine } = host

    /** Opens the dialog of a button, chooses, gives the reason and confirms. */
    async function decide(page: Page, button: string, choice: readonly [label: string, value: string], verb: string) {
      await page.getByRole('button', { name: button, exact: true }).click()
      const dialog = dialogOf(page)
      await dialog.getByRole('combobox', { name: choice[0] }).selectOption(choice[1])
      expect(await findInaccessible(page)).toEqual([])
      await dialog.getByRole('textbox', { name: /Reason/ }).fill(reason)
      await dialog.getByRole('button', { name: verb, exact: true }).click()
      await dialog.filter({ hasText: 'Back' }).waitFor({ state: 'detached' })
    }

    it('let pass what a screening has put on hold, for who may approve, and show it in the timeline', async () => {
      await host.commit((tx) =>
        engine.policies.set(tx, [{ name: 'sanctions', screen: 'the list' }], { actor: 'petra', reason }),
      )
      const { id } = await host.enqueue({ createdBy: 'carl' })
      const { page, open, errors } = await visit()
      await open(`/transfers/${id}`)
      // Nothing is on hold yet.
      expect(await page.getByRole('button', { name: 'Answer screening' }).count()).toBe(0)
      await host.commit((tx) =>
        engine.transfers.answerScreening(tx, id, { result: 'hold', case: 'c-7', actor: 'provider', reason: 'a name' }),
      )
      const actor = await visit({ as: { ...admin, permissions: { read: 'all', act: 'all' } } })
      await actor.open(`/transfers/${id}`)
      expect(await actor.page.getByRole('button', { name: 'Answer screening' }).count()).toBe(0)
      await open(`/transfers/${id}`)
      await page.getByRole('button', { name: 'Answer screening' }).click()
      const dialog = dialogOf(page)
      await dialog.getByText('for the case c-7').waitFor()
      await host.commit((tx) =>
        engine.transfers.answerScreening(tx, id, { result: 'hold', case: 'c-8', actor: 'provider', reason: 'another' }),
      )
      await dialog.getByRole('combobox', { name: 'Answer' }).selectOption('pass')
      await dialog.getByRole('textbox', { name: /Reason/ }).fill(reason)
      await dialog.getByRole('button', { name: 'Answer', exact: true }).click()
      await dialog.getByRole('alert').getByText('A newer answer of the screening').waitFor()
      // The page has read it again; what the dialog is about stays what was seen.
      await page.getByText('case c-8').first().waitFor()
      await dialog.getByRole('button', { name: 'Answer', exact: true }).click()
      await dialog.getByRole('alert').getByText('A newer answer of the screening').waitFor()
      await dialog.getByRole('button', { name: 'Back' }).click()
      await decide(page, 'Answer screening', ['Answer', 'pass'], 'Answer')
      await page.locator('.page-head .badge', { hasText: 'Queued' }).waitFor()
      await page.getByText('Screening: pass').waitFor()
      expect(await engine.audit.list({ transferId: id, command: 'transfers.answer_screening' })).toMatchObject([
        { actor: 'ada', reason, after: { result: 'pass', case: 'c-8' } },
        { actor: 'provider' },
        { actor: 'provider' },
      ])
      expect(errors).toEqual([])
    })

    it('resubmit at another gateway that workers have', async () => {
      await host.pool.query(`insert into outlay.attended_gateway (name) values ('default'), ('cards')`)
      const { id } = await host.enqueue()
      await host.commit((tx) => engine.transfers.cancel(tx, id))
      const { page, open, errors } = await visit()
      await open(`/transfers/${id}`)
      await decide(page, 'Resubmit', ['Gateway', 'cards'], 'Resubmit')
      await expect.poll(async () => (await engine.transfers.get(id))?.resubmittedAs).toBeDefined()
      const successor = await engine.transfers.get((await engine.transfers.get(id))?.resubmittedAs ?? '')
      expect(successor).toMatchObject({ gateway: 'cards', resubmissionOf: id })
      expect(errors).toEqual([])
    })
  },
  ({ driver }) => ({
    engine: createEngine<pg.PoolClient>({
      backend: postgres({ driver }),
      gateways: { default: memoryGateway(), cards: memoryGateway() },
      route: () => 'default',
    }),
  }),
)
