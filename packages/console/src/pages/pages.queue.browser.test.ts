import { expect, it } from 'vitest'
import { act, dialogOf } from '../../test/browser.ts'
import { describePages } from '../../test/chromium.ts'

const reason = 'decision of the board'

const refusal = (status: number, code: string, detail: string) => ({
  ...{ status, contentType: 'application/problem+json' },
  body: JSON.stringify({ ...{ status, code, detail, title: code }, next: 'Again.', requestId: 'r', errors: [] }),
})

describePages('a queue that somebody works off', ({ host, visit }) => {
  const { engine } = host
  const hold = (...approvals: readonly { readonly count?: number; readonly roles?: readonly string[] }[]) =>
    host.commit((tx) => engine.policies.set(tx, [{ name: 'large', approvals }], { actor: 'petra', reason }))

  it('says how many approvals are missing, and of what was approved how much is still held', async () => {
    await hold({ count: 2 }, { roles: ['finance'] })
    const { id } = await host.enqueue({ createdBy: 'carl' })
    await host.commit((tx) => engine.transfers.approve(tx, id, { actor: 'bert' }))
    await host.commit((tx) => engine.transfers.approve(tx, id, { actor: 'dora' }))
    const second = await host.enqueue({ createdBy: 'carl' })
    const { page, open, errors } = await visit()
    await open('/approvals')
    await page.getByText('missing: 2 of anybody, 1 of finance').waitFor()
    await page.getByText('missing: 1 of finance').waitFor()
    await page.getByRole('checkbox', { name: /Choose all 2/ }).check()
    await act(page, 'Approve 2', 'Approve 2', reason)
    await page.getByText('Approved: 2. Still held, since something is missing: 1.').waitFor()
    expect((await engine.transfers.get(id))?.stage).toBe('queued')
    await open(`/transfers/${second.id}`)
    await page.getByText('Missing: 1 of anybody, 1 of finance.').waitFor()
    // What held it is a link, whatever the policies are now.
    await hold({})
    await page.getByRole('link', { name: 'large, version 1' }).click()
    await page.getByRole('heading', { name: 'Version 1', exact: true }).waitFor()
    await page.getByText(/2 of anybody .*1 of finance/).waitFor()
    await page.getByRole('button', { name: 'Later' }).click()
    await page.getByRole('heading', { name: 'Version 2', exact: true }).waitFor()
    expect(errors).toEqual([])
  })

  it('sends what came too soon again, and reads again what could not be read', async () => {
    await hold({})
    const { id } = await host.enqueue({ createdBy: 'carl' })
    const { page, open } = await visit()
    await open('/approvals')
    const answers = [refusal(503, 'service_unavailable', 'No place is free.')]
    await page.route('**/api/transfers/*', (route) => {
      const answer = answers.pop()
      return answer === undefined ? route.continue() : route.fulfill(answer)
    })
    await page.getByRole('button', { name: /^Approve 12.50/ }).click()
    const dialog = dialogOf(page)
    await dialog.getByText('It could not be read again: No place is free.').waitFor()
    expect(await dialog.getByRole('button', { name: 'Approve', exact: true }).isDisabled()).toBe(true)
    await dialog.getByRole('button', { name: 'Read again' }).click()
    await dialog.getByText('As you see it in the queue.').waitFor()
    let times = 0
    await page.route('**/api/transfers/*/approve', (route) => {
      times += 1
      const answer = { ...refusal(429, 'rate_limited', 'Too many requests.'), headers: { 'retry-after': '1' } }
      return times === 1 ? route.fulfill(answer) : route.continue()
    })
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText('Nothing waits for approval').waitFor()
    expect([times, (await engine.transfers.get(id))?.stage]).toEqual([2, 'queued'])
  })

  it('stops where somebody says so, and decides no more behind their back', async () => {
    await hold({})
    for (let at = 0; at < 3; at += 1) await host.enqueue({ createdBy: 'carl' })
    const { page, open, errors } = await visit()
    const gate = Promise.withResolvers<void>()
    await page.route('**/api/transfers/*/approve', async (route) => {
      await gate.promise
      await route.continue()
    })
    await open('/approvals')
    await page.getByRole('checkbox', { name: /Choose all 3/ }).check()
    await act(page, 'Approve 3', 'Approve 3', reason)
    const dialog = dialogOf(page)
    await dialog.getByRole('button', { name: 'Stop' }).click()
    gate.resolve()
    await dialog.getByText('Stopped. What is not done here was not decided.').waitFor()
    expect((await engine.backlog()).held).toBe(2)
    await dialog.getByText('Done.', { exact: true }).waitFor()
    await dialog.getByRole('button', { name: 'Approve 3' }).click()
    await page.getByText('Approved: 3.').waitFor()
    expect([(await engine.backlog()).held, errors]).toEqual([0, []])
  })

  it('shows payments of one amount apart, and says until when one may be approved', async () => {
    await hold({})
    const past = new Date(Date.now() - 60_000).toISOString()
    const times = { expiresAt: '2040-06-02T10:00:00.000Z', notBefore: '2040-06-01T10:00:00.000Z' }
    await host.enqueue({ createdBy: 'carl', idempotencyKey: 'invoice-7', ...times })
    const late = await host.enqueue({ createdBy: 'carl' })
    await host.pool.query('update outlay.transfer set expires_at = $2 where id = $1', [late.id, past])
    const { page, open, errors } = await visit()
    await open('/approvals')
    await page.getByText(/not sent before 1 Jun/).waitFor()
    await page.getByText(/expires 2 Jun/).waitFor()
    await page.getByText(/expired since/).waitFor()
    await page
      .getByRole('button', { name: /^Approve 12.50/ })
      .last()
      .click()
    await dialogOf(page).getByText('invoice-7').waitFor()
    expect(errors).toEqual([])
  })

  it('is that of one batch, line by line', async () => {
    await hold({})
    const batch = await host.commit((tx) => engine.batches.create(tx, { accountId: 'acme', key: 'payroll' }))
    const { id } = await host.enqueue({ batchId: batch.id, createdBy: 'carl' })
    await host.enqueue({ createdBy: 'carl', amount: { value: '77.00', currency: 'USD' } })
    const { page, open, errors } = await visit()
    await open(`/batches/${batch.id}`)
    await page.getByRole('link', { name: 'Decide line by line' }).click()
    await page.getByText(`Only of the batch ${batch.id}.`).waitFor()
    await page.getByRole('button', { name: /^Reject 12.50/ }).waitFor()
    expect(await page.getByRole('button', { name: /^Reject/ }).count()).toBe(1)
    await page.getByRole('button', { name: /^Reject 12.50/ }).click()
    const dialog = dialogOf(page)
    await dialog.getByText('As you see it in the queue.').waitFor()
    await dialog.getByRole('textbox').fill('a wrong line')
    await dialog.getByRole('button', { name: 'Reject', exact: true }).click()
    await page.getByText('Nothing waits for approval').waitFor()
    await page.getByRole('link', { name: 'All that waits' }).click()
    await page.getByRole('button', { name: /^Reject 77.00/ }).waitFor()
    // It is found again with who did it and why.
    await open(`/audit?transferId=${id}`)
    await page.getByRole('cell', { name: 'a wrong line' }).waitFor()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    const file = await saved
    expect(file.suggestedFilename()).toBe('audit.csv')
    const chunks = []
    for await (const chunk of await file.createReadStream()) chunks.push(chunk)
    expect(Buffer.concat(chunks).toString()).toContain(`,ada,transfers.reject,${id},a wrong line,`)
    expect(errors).toEqual([])
  })
})

describePages('what a page of the console has not read', ({ host, visit }) => {
  const { engine } = host
  it('is said of a key that was not searched everywhere, and of an id that several transfers have', async () => {
    const { id } = await host.enqueue({ idempotencyKey: 'invoice-7' })
    const other = await host.enqueue({ accountId: 'bolt' })
    const { page, open, errors } = await visit()
    await page.route('**/api/transfers/with-key?*', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...((await answer.json()) as object), isCut: true } })
    })
    await open('/transfers')
    const search = page.getByRole('searchbox')
    const find = async (text: string) => {
      await search.fill(text)
      await search.press('Enter')
    }
    await find('invoice-8')
    await page.getByText('There are more accounts than were searched: filter by one, and search again.').waitFor()
    await find('invoice-7')
    await page.waitForURL(`**/transfers/${id}`)
    await page.getByText('Others may have this key, too').waitFor()
    await host.pool.query(`update outlay.transfer set remote_id = 'r-1' where id = any ($1)`, [[id, other.id]])
    await open('/transfers')
    await find('r-1')
    await page.getByText('Several transfers have it').waitFor()
    await page.getByRole('link', { name: '12.50 USD of bolt at default' }).click()
    await page.waitForURL(`**/transfers/${other.id}`)
    await open('/transfers?accountId=acme')
    await find('r-1')
    await page.waitForURL(`**/transfers/${id}`)
    expect(errors).toEqual([])
  })

  it('is said of more dead letters than it shows, and of a number that is none', async () => {
    const { id } = await host.enqueue()
    const others: string[] = []
    for (let more = 0; more < 110; more += 1) others.push((await host.enqueue()).id)
    await host.commit(async (tx) => {
      for (const one of [id, ...others]) await engine.transfers.cancel(tx, one)
    })
    await host.pool.query(
      `insert into outlay.subscription (name, types) values ('books', '{transfer.canceled}');
       insert into outlay.delivery (subscription, transfer_id, sequence, type, account_id, due_at, ready, failures, dead, last_error)
       select 'books', e.transfer_id, e.sequence, e.type, 'acme', now(), false, 40, true, 'no' from outlay.event e where e.type = 'transfer.canceled'`,
    )
    const { page, open, errors } = await visit()
    await open('/subscriptions')
    await page.getByText('The oldest 100 of 111.').waitFor()
    await page.getByRole('cell', { name: id }).first().waitFor()
    await open('/accounts/acme')
    await page.getByRole('button', { name: 'Change' }).click()
    const dialog = dialogOf(page)
    for (const [name, wrong] of [
      ['Submissions at once', '1,5'],
      ['Submissions a second', '0x10'],
    ] as const) {
      const field = dialog.getByRole('textbox', { name, exact: true })
      await field.fill(wrong)
      expect(await field.getAttribute('aria-invalid')).toBe('true')
    }
    await dialog.getByText('Write a number such as 2.5').waitFor()
    await dialog.getByRole('textbox', { name: /Reason/ }).fill(reason)
    expect(await dialog.getByRole('button', { name: 'Change' }).isDisabled()).toBe(true)
    expect(errors).toEqual([])
  })
})
