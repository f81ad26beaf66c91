import { expect, it } from 'vitest'
import { act, addPolicy, dialogOf, settle } from '../../test/browser.ts'
import { describePages } from '../../test/chromium.ts'
import { admin } from '../../test/host.ts'

const why = 'the payee called'

describePages('actions of the pages', ({ host, visit }) => {
  const { engine } = host
  const records = async () => (await engine.audit.list()).map(({ command, actor, reason }) => [command, actor, reason])
  const fourEyes = () =>
    host.commit((tx) => engine.policies.set(tx, [{ name: 'four-eyes', approvals: [{}] }], { actor: 'o', reason: why }))

  it('hold, release, cancel and resubmit a transfer, each with its row in the audit', async () => {
    const { id } = await host.enqueue()
    const { page, open, errors } = await visit()
    await open(`/transfers/${id}`)
    for (const [verb, state] of [
      ['Hold', 'Held'],
      ['Release', 'Queued'],
      ['Cancel', 'Canceled'],
      ['Resubmit', 'Canceled'],
    ] as const) {
      await act(page, verb, verb, why)
      await dialogOf(page).filter({ hasText: 'Back' }).waitFor({ state: 'detached' })
      await page.locator('.page-head .badge', { hasText: state }).waitFor()
    }
    const [resubmission, ...others] = await records()
    expect(resubmission?.slice(0, 2)).toEqual(['transfers.resubmit', 'ada'])
    expect(others).toEqual(['cancel', 'release', 'hold'].map((verb) => [`transfers.${verb}`, 'ada', why]))
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'canceled' })
    expect(errors).toEqual([])
  })

  it('show what the server said when it refuses, and keep what was written', async () => {
    const { id } = await host.enqueue()
    const { page, open } = await visit()
    await open(`/transfers/${id}`)
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await host.commit((tx) => engine.transfers.cancel(tx, id, { actor: 'bert', reason: 'first' }))
    const dialog = dialogOf(page)
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(why)
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click()
    await dialog.getByRole('alert').getByText('Read it again, and decide anew.').waitFor()
    expect(await dialog.getByRole('textbox', { name: /Reason/ }).inputValue()).toBe(why)
    expect((await records()).filter(([, actor]) => actor === 'ada')).toEqual([])
  })

  it('do with all transfers of a filter what the preview has shown, and nothing when others came', async () => {
    await host.enqueue()
    await host.enqueue()
    const { page, open } = await visit()
    await open('/transfers?accountId=acme&stage=queued')
    await page.getByRole('button', { name: /Act on all of these/ }).click()
    await page.getByRole('menuitem', { name: /Hold/ }).click()
    const dialog = dialogOf(page).filter({ hasText: 'Back' })
    await dialog.getByText('25.00').waitFor()
    await host.enqueue()
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(why)
    await dialog.getByRole('button', { name: 'Hold 2' }).click()
    await dialog.getByRole('alert').waitFor()
    expect((await engine.backlog()).held).toBe(0)
    // The list behind has three by now; the same button is still about what was seen.
    await page.locator('.totals', { hasText: '37.50' }).waitFor()
    expect(await dialog.getByRole('button', { name: /^Hold/ }).textContent()).toBe('Hold 2')
    await dialog.getByRole('button', { name: 'Count again' }).click()
    await dialog.getByRole('button', { name: 'Hold 3' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await engine.backlog()).held).toBe(3)
    expect((await records()).map(([command]) => command)).toContain('transfers.bulk_hold')
  })

  it('let one of two approvers at once approve, and show the other one what happened', async () => {
    await fourEyes()
    const { id } = await host.enqueue({ createdBy: 'carl' })
    const visits = await Promise.all(['anna', 'bert'].map((actor) => visit({ as: { ...admin, actor } })))
    await Promise.all(visits.map(({ open }) => open('/approvals')))
    const dialogs = visits.map(({ page }) => dialogOf(page).filter({ hasText: 'Back' }))
    for (const { page } of visits) await page.getByRole('button', { name: /^Approve 12.50/ }).click()
    for (const dialog of dialogs) await dialog.getByText('As you see it in the queue.').waitFor()
    await Promise.all(dialogs.map((dialog) => dialog.getByRole('button', { name: 'Approve', exact: true }).click()))
    const refused = async () => {
      const counts = await Promise.all(dialogs.map((dialog) => dialog.getByRole('alert').count()))
      const open = await Promise.all(dialogs.map((dialog) => dialog.count()))
      return [counts.reduce((sum, one) => sum + one, 0), open.reduce((sum, one) => sum + one, 0)]
    }
    await expect.poll(refused).toEqual([1, 1])
    expect(await engine.transfers.holds(id)).toMatchObject({ holds: [], approvals: [{}] })
    expect((await records()).filter(([command]) => command === 'transfers.approve')).toHaveLength(1)
  })

  it('say before a decision what has changed since the queue was read', async () => {
    await host.commit((tx) =>
      engine.policies.set(tx, [{ name: 'two', approvals: [{ count: 2 }] }], { actor: 'o', reason: why }),
    )
    const { id } = await host.enqueue({ createdBy: 'carl' })
    const { page, open } = await visit()
    await open('/approvals')
    await host.commit((tx) => engine.transfers.approve(tx, id, { actor: 'bert' }))
    await page.getByRole('button', { name: /^Reject 12.50/ }).click()
    await dialogOf(page).getByText('Changed since you opened the queue: bert has approved it.').waitFor()
    await dialogOf(page).getByRole('textbox').fill(why)
    await dialogOf(page).getByRole('button', { name: 'Reject', exact: true }).click()
    await page.getByText('Nothing waits for approval').waitFor()
    expect((await records())[0]).toEqual(['transfers.reject', 'ada', why])
  })

  it('do not offer what somebody may not do, and show what they may not see as denied', async () => {
    await fourEyes()
    const { id } = await host.enqueue({ createdBy: 'carl' })
    const reader = { actor: 'rita', permissions: { read: ['acme'] } }
    const { page, open, errors } = await visit({ as: reader })
    await open(`/transfers/${id}`)
    await page.getByText('You may see this account, and not act on it.').waitFor()
    expect(await page.getByRole('button', { name: /^(Approve|Reject|Cancel|Hold)$/ }).count()).toBe(0)
    for (const path of ['/subscriptions', '/policies']) {
      await open(path)
      await page.getByText('You may not see this').first().waitFor()
    }
    await open('/overview')
    await page.getByText('The overview is about all accounts').waitFor()
    await open('/accounts/globex')
    await page.getByText('There is nothing here').waitFor()
    expect(errors).toEqual([])
    const nobody = await visit({ as: null })
    await nobody.page.goto(`${nobody.url}/transfers`)
    await nobody.page.getByText('Nobody is logged in').first().waitFor()
  })

  it('set limits of an account and policies, and keep the filter in the address', async () => {
    const { id } = await host.enqueue({ idempotencyKey: 'invoice-7', metadata: { order: '17' } })
    const { page, open, errors } = await visit()
    await open('/accounts/acme')
    await page.getByRole('button', { name: 'Change' }).click()
    const dialog = dialogOf(page)
    await dialog.getByRole('textbox', { name: 'Weight' }).fill('3')
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(why)
    await dialog.getByRole('button', { name: 'Change' }).click()
    await dialog.filter({ hasText: 'Back' }).waitFor({ state: 'detached' })
    expect(await engine.accounts.get('acme')).toMatchObject({ weight: 3 })
    await open('/policies')
    await page.getByRole('button', { name: 'Change the policies' }).click()
    await addPolicy(page, 'Four eyes')
    await page.getByText('the amount is 10000 USD or more').waitFor()
    await page.getByRole('button', { name: 'Try them with past transfers' }).click()
    await page.getByText('1 would have gone to the queue').waitFor()
    await act(page, 'Set them …', 'Set them', why)
    await page.getByRole('heading', { name: 'Version 1', exact: true }).waitFor()
    expect(await engine.policies.get()).toMatchObject({ version: 1, actor: 'ada' })
    await open('/transfers')
    const search = page.getByRole('searchbox')
    await search.fill('order=17')
    await search.press('Enter')
    await page.waitForURL('**/transfers?metadata%5Border%5D=17')
    await settle(page)
    await search.fill('12.5')
    await search.press('Enter')
    await page.waitForURL('**/transfers?metadata%5Border%5D=17&amount=12.5')
    await page.getByRole('cell', { name: '12.50 USD' }).waitFor()
    await search.fill(id)
    await search.press('Enter')
    await page.waitForURL(`**/transfers/${id}`)
    await open('/transfers')
    await search.fill('invoice-7')
    await search.press('Enter')
    await page.waitForURL(`**/transfers/${id}`)
    expect(errors).toEqual([])
  })
})
