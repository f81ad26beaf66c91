import { strict as assert } from 'node:assert'
import { expectStatus, expectTimestamp } from './assertions.ts'
import { achDebit, bankAccount, leg, offramp, payout, wireOnramp } from './samples.ts'
import { cases, needing } from './service-case.ts'
import type { ServiceSubject } from './subject.ts'

const receiveWire = async (service: ServiceSubject, transferId: string) => {
  const body = { transfer_id: transferId, sender_name: 'Globex', sender_bank_name: 'First Bank' }
  expectStatus(await service.call('POST', '/simulations/wires', { body }), 202)
}

const day = 86_400

/** Transfers on their way: statuses, identifiers and money. */
export const transferProgressCases = [
  ...cases('States and transitions: Transfer statuses', {
    'a transfer waits as pending until its wire comes, then is processing, then complete': needing(
      ['simulations'],
      async (service) => {
        const created = await service.created(await wireOnramp(service))
        await service.advance(day)
        assert.equal((await service.read(created.id)).status, 'pending')
        await receiveWire(service, created.id)
        const processing = await service.reaches(created.id, 'processing')
        assert.ok(processing.updated_at > created.updated_at)
        await service.advance(60)
        const complete = await service.reaches(created.id, 'complete')
        assert.ok(complete.updated_at >= processing.updated_at)
        assert.equal(complete.created_at, created.created_at)
        assert.equal(complete.failure, null)
      },
    ),
    'a complete transfer has moved the money, and until then it is held': needing(
      ['simulations', 'settled'],
      async (service) => {
        const body = await payout(service, '12.50', 'USDT', 'polygon')
        const before = await service.balance('USDT', 'polygon')
        const { id } = await service.created(body)
        const held = await service.balance('USDT', 'polygon')
        assert.equal(held.total, before.total)
        assert.equal((Number(before.available) - Number(held.available)).toFixed(2), '12.50')
        await service.reaches(id, 'processing')
        await service.advance(60)
        await service.reaches(id, 'complete')
        const after = await service.balance('USDT', 'polygon')
        assert.equal((Number(before.total) - Number(after.total)).toFixed(2), '12.50')
        assert.equal(after.available, held.available)
      },
    ),
    'a transfer that fails says why and gives the money back': needing(['simulations', 'settled'], async (service) => {
      const body = await payout(service, '40.00', 'USDT', 'polygon')
      const before = await service.balance('USDT', 'polygon')
      const bank = await service.register(bankAccount(['ach_credit'], `${Date.now()}0003`))
      const { id } = await service.created({ ...body, destination: leg(bank, 'USD', 'ach_credit') })
      await service.reaches(id, 'processing')
      await service.advance(8 * day)
      const { failure } = await service.reaches(id, 'failed')
      assert.deepEqual([failure?.['type'], failure?.['code'], failure?.['retriable']], ['returned', 'R03', false])
      expectTimestamp(failure?.['occurred_at'])
      assert.deepEqual(await service.balance('USDT', 'polygon'), before)
    }),
    'a status is one of the five, and goes forward only': needing(['simulations'], async (service) => {
      const order = ['pending', 'processing', 'complete']
      const { id } = await service.created(await payout(service))
      let last = 0
      while (last < 2) {
        const at = order.indexOf((await service.read(id)).status)
        assert.ok(at >= last)
        last = at
        if (last === 1) await service.advance(60)
      }
    }),
  }),
  ...cases('Resources and their fields: Transfer', {
    'a wire that came in names its sender': needing(['simulations', 'settled'], async (service) => {
      const { id } = await service.created(await wireOnramp(service))
      await receiveWire(service, id)
      const { source } = await service.reaches(id, 'processing')
      const details = source.payment_details ?? {}
      assert.deepEqual([details['sender_name'], details['sender_bank_name']], ['Globex', 'First Bank'])
      assert.match(String(details['imad']), /^\d{8}[A-Z0-9]{8}\d{6}$/)
      expectTimestamp(details['received_at'])
      await service.advance(60)
      const { destination } = await service.reaches(id, 'complete')
      assert.match(destination.transaction_id ?? '', /^0x[0-9a-f]{64}$/)
    }),
    'an ACH debit has its trace number': needing(['simulations', 'settled'], async (service) => {
      const { id } = await service.created(await achDebit(service))
      assert.match((await service.reaches(id, 'processing')).source.transaction_id ?? '', /^\d{15}$/)
      await service.advance(8 * day)
      const { source } = await service.reaches(id, 'complete')
      assert.match(String(source.payment_details?.['trace_number']), /^\d{15}$/)
    }),
    'an outbound wire has its IMAD at the end at the latest': needing(['simulations'], async (service) => {
      const { id } = await service.created(await offramp(service, 'wire'))
      await service.reaches(id, 'processing')
      await service.advance(3 * 3_600)
      const { destination } = await service.reaches(id, 'complete')
      assert.equal(typeof destination.payment_details?.['imad'], 'string')
    }),
    'a payout on a chain has its hash': needing(['simulations'], async (service) => {
      const created = await service.created(await payout(service))
      assert.equal(created.destination.transaction_id, undefined)
      await service.reaches(created.id, 'processing')
      await service.advance(60)
      const { destination } = await service.reaches(created.id, 'complete')
      assert.match(destination.transaction_id ?? '', /^0x[0-9a-f]{64}$/)
    }),
  }),
]
