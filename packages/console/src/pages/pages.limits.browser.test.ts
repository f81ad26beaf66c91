import { expect, it } from 'vitest'
import { act } from '../../test/browser.ts'
import { describePages } from '../../test/chromium.ts'

const reason = 'decision of the board'

describePages('the form of limits', ({ host, visit }) => {
  const { engine } = host

  it('sets limits with their spans, zones and keys, and shows what is wrong beside its field', async () => {
    const { page, open, errors } = await visit()
    await open('/limits')
    await page.getByText('No sum is limited').waitFor()
    await page.getByRole('button', { name: 'Change the limits' }).click()
    await page.getByRole('button', { name: 'Add a limit' }).click()
    await page.getByRole('menuitem', { name: 'A day of each account' }).click()
    const limit = page.getByRole('listitem', { name: 'Limit daily-account', exact: true })
    await limit.getByRole('textbox', { name: 'USD' }).fill('lots')
    await limit.getByRole('combobox', { name: 'Of this time zone' }).fill('CET')
    await limit.getByText('Must be UTC or the IANA name of a time zone').waitFor()
    expect(await limit.getByRole('textbox', { name: 'USD' }).getAttribute('aria-invalid')).toBe('true')
    await limit.getByRole('textbox', { name: 'USD' }).fill('25000')
    await limit.getByRole('combobox', { name: 'Of this time zone' }).fill('Europe/Berlin')
    await limit.getByRole('combobox', { name: 'In a' }).selectOption('month')
    await limit.getByRole('checkbox', { name: 'gateway' }).check()
    await limit.getByRole('textbox', { name: 'Only of these accounts' }).fill('acme')
    await limit.getByText('At most 25,000 USD in a month for each account and gateway').waitFor()
    await act(page, 'Set them …', 'Set them', reason)
    await page.getByRole('heading', { name: 'Version 1', exact: true }).waitFor()
    const wanted = { most: { USD: '25000' }, span: 'month', zone: 'Europe/Berlin' }
    expect((await engine.limits.get())?.limits).toMatchObject([
      { name: 'daily-account', ...wanted, per: ['account', 'gateway'], accounts: ['acme'] },
    ])
    expect(await engine.audit.list()).toMatchObject([{ command: 'limits.set', actor: 'ada', reason }])
    expect(errors).toEqual([])
  })
})
