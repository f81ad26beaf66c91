import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { act, addPolicy } from '../../test/browser.ts'
import { describePages } from '../../test/chromium.ts'

const reason = 'decision of the board'

const rule = (page: Page, name: string) => page.getByRole('listitem', { name: `Policy ${name}`, exact: true })

const addCondition = async (page: Page, name: string, condition: string) => {
  await rule(page, name).getByRole('button', { name: 'Add a condition' }).click()
  await page.getByRole('menuitem', { name: condition, exact: true }).click()
}

/** Reads the draft as JSON, and goes back to the form. */
const readDraft = async (page: Page): Promise<unknown> => {
  await page.getByRole('tab', { name: 'JSON' }).click()
  const text = await page.locator('textarea.editor').inputValue()
  await page.getByRole('tab', { name: 'Form' }).click()
  return JSON.parse(text)
}

describePages('the form of policies', ({ host, visit }) => {
  const { engine } = host
  const begin = async () => {
    const seen = await visit()
    await seen.open('/policies')
    await seen.page.getByRole('button', { name: 'Change the policies' }).click()
    return seen
  }

  it('writes every condition that the engine knows, as the engine reads it', async () => {
    const { page, errors } = await begin()
    await addPolicy(page, 'An empty one')
    await rule(page, 'policy').getByRole('textbox', { name: 'Name', exact: true }).fill('all')
    const all = rule(page, 'all')
    await addCondition(page, 'all', 'Amount')
    await all.getByRole('textbox', { name: 'USD, this or more' }).fill('10000')
    await all.getByRole('textbox', { name: 'USD, less than' }).fill('90000.50')
    await all.getByRole('button', { name: 'Add a currency' }).click()
    await page.getByRole('menuitem', { name: 'MXN' }).click()
    await all.getByRole('textbox', { name: 'MXN, less than' }).fill('5')
    await addCondition(page, 'all', 'Currency')
    await all.getByRole('checkbox', { name: 'USDC', exact: true }).check()
    await addCondition(page, 'all', 'Flow')
    await all.getByRole('checkbox', { name: 'offramp' }).check()
    await addCondition(page, 'all', 'Rail')
    await all.getByRole('checkbox', { name: 'wire', exact: true }).check()
    await all.getByRole('checkbox', { name: 'ach credit', exact: true }).check()
    await addCondition(page, 'all', 'Account')
    await all.getByRole('textbox', { name: 'Ids of accounts' }).fill('acme\n\nglobex')
    await addCondition(page, 'all', 'Counterparty')
    await all.getByRole('textbox', { name: "Ids of payees' addresses" }).fill('bank-7')
    await addCondition(page, 'all', 'How the payee is given')
    await all.getByRole('combobox', { name: 'The payee is given' }).selectOption('by the id of its address')
    await addCondition(page, 'all', 'Metadata')
    await all.getByRole('textbox', { name: 'Name of a pair' }).fill('run')
    await all.getByRole('button', { name: 'Add the pair' }).click()
    await all.getByRole('textbox', { name: 'run is' }).fill('salaries')
    await addCondition(page, 'all', 'Time of day')
    await all.getByLabel('From', { exact: true }).fill('22:00')
    await all.getByRole('combobox', { name: 'Time zone' }).fill('Asia/Tokyo')
    await all.getByRole('checkbox', { name: 'Friday' }).check()
    await all.getByRole('spinbutton', { name: 'How many' }).fill('2')
    await all.getByRole('textbox', { name: 'From these roles' }).fill('finance\nrisk desk')
    await all.getByRole('button', { name: 'Add a step' }).click()
    await all.getByRole('checkbox', { name: 'In this order' }).check()
    await all
      .getByText('it is enqueued or due on Friday between 22:00 and 06:00 of the next day, Asia/Tokyo time')
      .waitFor()
    await all.getByText('2 of finance or risk desk, then 1 of anybody but who created it').waitFor()
    const written = {
      name: 'all',
      when: {
        amounts: { USD: { from: '10000', below: '90000.50' }, MXN: { below: '5' } },
        ...{ currencies: ['USDC'], flows: ['offramp'], rails: ['wire', 'ach_credit'] },
        ...{ accounts: ['acme', 'globex'], counterparties: ['bank-7'], counterpartyInFull: false },
        metadata: { run: 'salaries' },
        time: { zone: 'Asia/Tokyo', from: '22:00', to: '06:00', days: ['fri'] },
      },
      approvals: [{ count: 2, roles: ['finance', 'risk desk'] }, { count: 1 }],
      inOrder: true,
    }
    await act(page, 'Set them …', 'Set them', reason)
    await page.getByRole('heading', { name: 'Version 1', exact: true }).waitFor()
    const policies = (await engine.policies.get())?.policies
    expect(policies).toMatchObject([
      { ...written, when: { ...written.when, rails: expect.arrayContaining(['wire', 'ach_credit']) } },
    ])
    expect(errors).toEqual([])
  })

  it('shows beside each field what the engine would refuse', async () => {
    const { page } = await begin()
    await addPolicy(page, 'Four eyes')
    await addCondition(page, 'large', 'Time of day')
    const large = rule(page, 'large')
    const amount = large.getByRole('textbox', { name: 'USD, this or more' })
    const zone = large.getByRole('combobox', { name: 'Time zone' })
    await amount.fill('ten')
    await zone.fill('Berlin')
    await large.getByRole('spinbutton', { name: 'How many' }).fill('11')
    await large.getByText('Must be the IANA name of a time zone').waitFor()
    for (const field of [amount, zone, large.getByRole('spinbutton', { name: 'How many' })])
      expect(await field.getAttribute('aria-invalid')).toBe('true')
    await large.getByText('Must be a whole number from 1 to 10').waitFor()
    await addPolicy(page, 'Four eyes')
    await rule(page, 'large-2').getByRole('textbox', { name: 'Name', exact: true }).fill('large')
    await page.getByText('Is that of another policy').waitFor()
    await zone.fill('Europe/Berlin')
    await large.first().getByText('Must be the IANA name of a time zone').waitFor({ state: 'detached' })
    // What is wrong holds nobody back from asking: the server says the same.
    await page.getByRole('button', { name: 'Try them with past transfers' }).click()
    await page.getByRole('alert').getByText('/policies/0/when/amounts/USD/from').waitFor()
  })

  it('is the same draft as the JSON, and leaves what it does not know as it is', async () => {
    const stored = { name: 'large', when: { amounts: { USD: { from: '10000' } } }, approvals: [{}] }
    await host.commit((tx) => engine.policies.set(tx, [stored], { actor: 'petra', reason }))
    const { page, errors } = await begin()
    await page.getByRole('tab', { name: 'JSON' }).click()
    const later = { ...stored, when: { ...stored.when, moon: 'full' }, note: 7 }
    const text = JSON.stringify([later, { name: 'b', hold: 'h' }])
    const editor = page.locator('textarea.editor')
    await editor.fill(text)
    expect(await editor.inputValue()).toBe(text)
    await page.getByRole('tab', { name: 'Form' }).click()
    await rule(page, 'large').getByText('note is not known').waitFor()
    await page.getByRole('button', { name: 'Edit large' }).click()
    await rule(page, 'large').getByRole('textbox', { name: 'USD, this or more' }).fill('20000')
    await page.getByRole('button', { name: 'Duplicate b' }).click()
    await page.getByRole('button', { name: 'Move b-2 up' }).press('Enter')
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Move b-2 up')
    expect(await readDraft(page)).toEqual([
      { ...later, when: { amounts: { USD: { from: '20000' } }, moon: 'full' } },
      { name: 'b-2', hold: 'h' },
      { name: 'b', hold: 'h' },
    ])
    await page.getByRole('button', { name: 'Remove b', exact: true }).click()
    await rule(page, 'b-2').getByRole('combobox', { name: 'What it asks' }).selectOption('refuse it')
    expect(await readDraft(page)).toMatchObject([{ note: 7 }, { name: 'b-2', refuse: 'h' }])
    await page.getByRole('tab', { name: 'JSON' }).click()
    await editor.fill('[{')
    await page.getByText('It is no JSON').waitFor()
    expect(await page.getByRole('button', { name: 'Set them …' }).isDisabled()).toBe(true)
    expect(errors).toEqual([])
  })
})
