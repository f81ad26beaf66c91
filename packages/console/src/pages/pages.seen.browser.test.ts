import { expect, it } from 'vitest'
import { addPolicy, dialogOf } from '../../test/browser.ts'
import { describePages } from '../../test/chromium.ts'

const reason = 'decision of the board'

describePages('what somebody has seen', ({ host, visit }) => {
  const { engine } = host

  it('is what their policies replace: those of a colleague stay, however often somebody presses', async () => {
    const first = { name: 'large', when: { amounts: { USD: { from: '10000' } } }, approvals: [{}] }
    const by = (actor: string) => ({ actor, reason })
    await host.commit((tx) => engine.policies.set(tx, [first], by('petra')))
    const { page, open } = await visit()
    await open('/policies')
    await page.getByRole('button', { name: 'Change the policies' }).click()
    await addPolicy(page, 'Refuse')
    await page.getByRole('button', { name: 'Set them …' }).click()
    const dialog = dialogOf(page)
    await dialog.getByRole('textbox', { name: /Reason/ }).fill('no wires here')
    const colleague = { name: 'at-night', when: { metadata: { night: 'yes' } }, hold: 'somebody checks it' }
    await host.commit((tx) => engine.policies.set(tx, [{ ...first, approvals: [{ count: 2 }] }, colleague], by('bert')))
    await dialog.getByRole('button', { name: 'Set them', exact: true }).click()
    await dialog.getByRole('alert').waitFor()
    // The page behind has read it again. Somebody who presses all the same overwrites nothing.
    await page
      .locator('main')
      .getByText(/version 2/)
      .first()
      .waitFor()
    await dialog.locator('form').evaluate((form: { requestSubmit(): void }) => form.requestSubmit())
    await dialog.getByText('bert has set version 2').waitFor()
    await dialog.getByText('It adds at-night and changes large.').waitFor()
    expect(await dialog.getByRole('button', { name: 'Set them', exact: true }).isDisabled()).toBe(true)
    expect((await engine.policies.get())?.policies.map(({ name }) => name)).toEqual(['large', 'at-night'])
    await dialog.getByRole('button', { name: 'Back' }).click()
    expect(await page.getByRole('button', { name: 'Set them …' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Begin again with version 2' }).click()
    await page.getByRole('tab', { name: 'JSON' }).click()
    expect(await page.locator('textarea.editor').inputValue()).toContain('no-wires')
    await page.getByText('It adds no-wires, changes large and removes at-night.').first().waitFor()
  })

  it('is what their approval of a batch is about', async () => {
    await host.commit((tx) => engine.policies.set(tx, [{ name: 'all', approvals: [{}] }], { actor: 'petra', reason }))
    const batch = await host.commit((tx) => engine.batches.create(tx, { accountId: 'acme', key: 'payroll' }))
    await host.enqueue({ batchId: batch.id, createdBy: 'carl' })
    const { page, open } = await visit()
    await open(`/batches/${batch.id}`)
    await page.getByRole('button', { name: 'Approve the batch' }).click()
    const dialog = dialogOf(page)
    await dialog.getByRole('button', { name: 'Approve 1', exact: true }).waitFor()
    await host.enqueue({ batchId: batch.id, createdBy: 'carl', amount: { value: '90000.00', currency: 'USD' } })
    for (let press = 0; press < 2; press += 1) {
      const answer = page.waitForResponse((one) => one.request().method() === 'POST')
      await dialog.getByRole('button', { name: /^Approve \d$/ }).click()
      expect((await answer).status()).toBe(409)
      await dialog.getByRole('alert').waitFor()
      // The page behind has read both.
      await page.locator('main').getByText('90,012.50').waitFor()
    }
    expect((await engine.backlog()).held).toBe(2)
  })

  it('is the hold that they release, whichever others there are since', async () => {
    const policy = { name: 'at-night', when: { metadata: { night: 'yes' } }, hold: 'somebody checks it' }
    await host.commit((tx) => engine.policies.set(tx, [policy], { actor: 'petra', reason }))
    const { id } = await host.enqueue({ metadata: { night: 'yes' }, createdBy: 'carl' })
    const hold = (actor: string) =>
      host.commit((tx) => engine.transfers.hold(tx, id, { actor, reason: 'the payee called' }))
    await hold('bert')
    const { page, open } = await visit()
    await open(`/transfers/${id}`)
    await page.getByRole('button', { name: 'Release', exact: true }).click()
    const dialog = dialogOf(page)
    expect(await dialog.getByRole('combobox', { name: 'Hold' }).locator('option:checked').textContent()).toMatch(
      /operator.*the payee called/,
    )
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(reason)
    await host.commit((tx) => engine.transfers.release(tx, id, { actor: 'olga', reason }))
    await hold('olga')
    await dialog.getByRole('button', { name: 'Release', exact: true }).click()
    await dialog.getByRole('alert').getByText('olga').waitFor()
    expect((await engine.transfers.holds(id))?.holds).toMatchObject([{ name: 'limit' }, { actor: 'olga' }])
  })

  it('is all that they change of an account', async () => {
    await host.enqueue()
    const { page, open } = await visit()
    await open('/accounts/acme')
    await page.getByRole('button', { name: 'Change' }).click()
    const dialog = dialogOf(page)
    await dialog.getByRole('textbox', { name: 'Weight' }).fill('3')
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(reason)
    await host.commit((tx) => engine.accounts.configure(tx, 'acme', { concurrency: 2 }))
    await dialog.getByRole('button', { name: 'Change' }).click()
    await dialog.filter({ hasText: 'Back' }).waitFor({ state: 'detached' })
    expect(await engine.accounts.get('acme')).toMatchObject({ weight: 3, concurrency: 2 })
  })

  it('is the pause that they end of an account', async () => {
    await host.enqueue()
    const pause = (actor: string) => host.commit((tx) => engine.accounts.pause(tx, 'acme', { actor, reason: 'fraud' }))
    await pause('bert')
    const { page, open } = await visit()
    await open('/accounts/acme')
    await page.locator('.banner').getByText('by bert: fraud').waitFor()
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    const dialog = dialogOf(page)
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(reason)
    await host.commit((tx) => engine.accounts.resume(tx, 'acme'))
    await pause('olga')
    await dialog.getByRole('button', { name: 'Resume', exact: true }).click()
    await dialog.getByText('by olga (fraud), which is another pause').waitFor()
    expect(await engine.accounts.get('acme')).toMatchObject({ paused: true })
  })

  it('says of an account that no transfer of it is known, before it is stopped and afterwards', async () => {
    const { page, open } = await visit()
    await open('/accounts/acmee')
    await page.locator('.banner').getByText('No transfer of acmee is known here').waitFor()
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    const dialog = dialogOf(page)
    await dialog.getByText('No transfer of acmee is known here').waitFor()
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(reason)
    await dialog.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByText('Stop: done. But no transfer of acmee is known here').first().waitFor()
  })
})
