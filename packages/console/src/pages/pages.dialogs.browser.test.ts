import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { addPolicy, dialogOf, findInaccessible } from '../../test/browser.ts'
import { describePages } from '../../test/chromium.ts'
import { findSideways, isExamined, takePicture, windows } from '../../test/pictures.ts'
import { makeStory, type Story } from '../../test/story.ts'

const why = 'The payee called: the invoice is paid.'

interface Dialog {
  readonly path: string
  /** Opens it, and waits for what it reads. */
  open(page: Page): Promise<unknown>
}

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).first().click()
const write = (page: Page) =>
  dialogOf(page)
    .getByRole('textbox', { name: /Reason|Note/ })
    .fill(why)

const chooseAll = (page: Page) => page.getByRole('checkbox', { name: /Choose all 4/ }).check()

const act = async (page: Page, verb: string) => {
  await page.getByRole('button', { name: /Act on all of these/ }).click()
  await page.getByRole('menuitem', { name: verb }).click()
  await page.getByRole('button', { name: new RegExp(`^${verb} \\d`) }).waitFor()
  await write(page)
}

/** Opens a dialog of a page of one transfer. */
const of = (id: string, name: string): Dialog => ({
  path: `/transfers/${id}`,
  open: async (page) => {
    await press(page, name)
    await write(page)
  },
})

const decide = (verb: 'Approve' | 'Reject'): Dialog => ({
  path: '/approvals',
  async open(page) {
    await chooseAll(page)
    await press(page, new RegExp(`^${verb} \\d+$`))
    await page.getByText('As you see it in the queue.').nth(3).waitFor()
    // The sum of the four.
    await dialogOf(page).getByText('53,500.00').waitFor()
    await write(page)
  },
})

const editors: Readonly<Record<string, Dialog>> = {
  'policy-editor': {
    path: '/policies',
    async open(page: Page) {
      await press(page, 'Change the policies')
      await addPolicy(page, 'Refuse')
      // The story has a policy of that name.
      await page.getByText('It adds no-wires-2.').waitFor()
      await press(page, 'Edit large')
      await page.getByRole('heading', { name: '1. large' }).scrollIntoViewIfNeeded()
    },
  },
  'policy-condition': {
    path: '/policies',
    async open(page: Page) {
      await press(page, 'Change the policies')
      await addPolicy(page, 'At night')
      const rule = page.getByRole('listitem', { name: 'Policy at-night-2' })
      await rule.getByRole('button', { name: 'Add a condition' }).click()
      await page.getByRole('menuitem', { name: 'Rail' }).click()
      await rule.getByText('Must be a list of 1 to 1000').waitFor()
      await rule.evaluate((element: { scrollIntoView(): void }) => element.scrollIntoView())
    },
  },
  'limit-editor': {
    path: '/limits',
    async open(page: Page) {
      await press(page, 'Change the limits')
      await page.getByRole('button', { name: 'Add a limit' }).click()
      await page.getByRole('menuitem', { name: 'A day of each account' }).click()
      await page
        .getByRole('listitem', { name: 'Limit daily-account' })
        .getByRole('textbox', { name: 'USD' })
        .fill('ten')
      await page.getByRole('listitem', { name: 'Limit daily-account' }).getByText('Must be').waitFor()
    },
  },
  'policy-json': {
    path: '/policies',
    async open(page: Page) {
      await press(page, 'Change the policies')
      await page.getByRole('tab', { name: 'JSON' }).click()
      await page.locator('textarea.editor').waitFor()
    },
  },
  'policy-trial': {
    path: '/policies',
    async open(page: Page) {
      await press(page, 'Change the policies')
      await addPolicy(page, 'New payee')
      await press(page, 'Try them with past transfers')
      await page.getByText('would have gone to the queue').waitFor()
      await page.getByRole('button', { name: 'Set them …' }).scrollIntoViewIfNeeded()
    },
  },
}

const dialogsOf = ({ blocked, held, operated, canceled }: Story & { operated: string; canceled: string }) => ({
  'approvals-chosen': { path: '/approvals', open: chooseAll },
  'approve-many': decide('Approve'),
  'reject-many': decide('Reject'),
  'bulk-menu': {
    path: '/transfers?accountId=acme&stage=queued',
    open: (page: Page) => page.getByRole('button', { name: /Act on all of these/ }).click(),
  },
  'bulk-hold': { path: '/transfers?accountId=acme&stage=queued', open: (page: Page) => act(page, 'Hold') },
  'bulk-unfit': { path: '/transfers?accountId=globex', open: (page: Page) => act(page, 'Hold') },
  'bulk-cancel': { path: '/transfers?accountId=acme&stage=queued', open: (page: Page) => act(page, 'Cancel') },
  resolve: of(blocked, 'Resolve'),
  release: of(operated, 'Release'),
  cancel: of(held[0] ?? '', 'Cancel'),
  reject: of(held[0] ?? '', 'Reject'),
  resubmit: of(canceled, 'Resubmit'),
  ...editors,
})

describePages(
  'dialogs of the pages',
  ({ host, visit }) => {
    it.each(windows)(
      'are accessible, fit into a window of $width px, and can be read in the theme $theme',
      async (size) => {
        const story = await makeStory(host)
        const { rows } = await host.pool.query(`select transfer_id from outlay.hold where name = 'operator'`)
        const operated = String(rows[0].transfer_id)
        const canceled = story.held[1] ?? ''
        await host.commit((tx) =>
          host.engine.transfers.cancel(tx, canceled, { actor: 'olga@example.com', reason: 'the invoice was wrong' }),
        )
        const findings: string[] = []
        const { page, open, errors } = await visit(size)
        for (const [name, dialog] of Object.entries(dialogsOf({ ...story, operated, canceled }))) {
          await open(dialog.path)
          await dialog.open(page)
          const sideways = await findSideways(page)
          if (sideways !== 0) findings.push(`${name} is ${sideways} px too wide`)
          await takePicture(page, name, size)
          if (isExamined(size)) findings.push(...(await findInaccessible(page)).map((one) => `${name}: ${one}`))
        }
        expect([...findings, ...errors]).toEqual([])
      },
    )
  },
  () => ({ shownMetadata: ['invoice'] }),
)
