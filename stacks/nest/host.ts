import { setTimeout as sleep } from 'node:timers/promises'
import type { INestApplication } from '@nestjs/common'
import { OutlayEngine } from '@outlay/nestjs'
import { DataSource } from 'typeorm'
import { Invoice, PAYOUTS, type Payouts } from './payouts.js'

/** Starts an application that was created with `rawBody: true`, pays an invoice, and returns its last status. */
export async function payInvoice(app: INestApplication, id: string): Promise<string> {
  const engine = app.get(OutlayEngine)
  try {
    await engine.migrate()
    await app.listen(0, '127.0.0.1')
    const payouts: Payouts = app.get(PAYOUTS)
    const { manager } = app.get(DataSource)
    const rejection = await payouts.pay(`${id}-refused`, true).catch((error: Error) => error)
    if (!(rejection instanceof Error)) throw new Error('A transaction that throws was committed.')
    const { ACCOUNT_ID = '' } = process.env
    const left = await engine.transfers.getByKey(ACCOUNT_ID, `${id}-refused`)
    if (left !== undefined) throw new Error('A payout was left by a transaction that was rolled back.')

    await payouts.pay(id)
    let status = ''
    while (status !== 'paid') {
      await sleep(50)
      status = (await manager.findOneByOrFail(Invoice, { id })).status
    }
    const headers = { 'content-type': 'application/json' }
    const forged = await fetch(`${await app.getUrl()}/webhooks/${ACCOUNT_ID}`, { method: 'POST', headers, body: '{}' })
    if (forged.status !== 401) throw new Error(`A forged webhook was answered with ${forged.status}.`)
    return status
  } finally {
    await app.close()
  }
}
