import { strict as assert } from 'node:assert'
import { expectRefusal, expectStatus, unknownId } from './assertions.ts'
import type { TransferPage } from './records.ts'
import { achDebit, payout, wireOnramp } from './samples.ts'
import { cases, needing } from './service-case.ts'
import type { ServiceSubject } from './subject.ts'

const list = async (service: ServiceSubject, query: Readonly<Record<string, string>>): Promise<TransferPage> => {
  const answer = await service.call<TransferPage>('GET', service.at('/transfers'), { query })
  expectStatus(answer, 200)
  assert.ok(Array.isArray(answer.json.transfers), answer.text)
  return answer.json
}

const idsOf = ({ transfers }: TransferPage) => transfers.map(({ id }) => id)

const addFive = async (service: ServiceSubject): Promise<readonly string[]> => {
  const body = await wireOnramp(service)
  const ids: string[] = []
  for (let count = 0; count < 5; count += 1) ids.push((await service.created(body)).id)
  return ids.reverse()
}

/** Lists of transfers: filters and pages. */
export const transferListCases = [
  ...cases('Endpoints: Transfers', {
    'a list is an object with transfers and pagination': async (service) => {
      const [id = ''] = await addFive(service)
      const page = await list(service, {})
      assert.ok(idsOf(page).includes(id))
      assert.ok('next' in page.pagination && 'prev' in page.pagination)
    },
    'filters match exactly and case-sensitively, on either side': needing(['simulations'], async (service) => {
      const out = await service.created(await payout(service))
      const back = await service.created(await achDebit(service))
      const query = { 'page[size]': '100' }
      assert.ok(idsOf(await list(service, { ...query, transfer_type: 'base' })).includes(out.id))
      assert.ok(idsOf(await list(service, { ...query, transfer_type: 'base' })).includes(back.id))
      assert.ok(idsOf(await list(service, { ...query, value_type: 'USD' })).includes(back.id))
      assert.ok(!idsOf(await list(service, { ...query, value_type: 'USD' })).includes(out.id))
      // Programs of the public contract write names in either case.
      if (service.options.dialect === 'public') return
      assert.deepEqual(idsOf(await list(service, { ...query, transfer_type: 'Base' })), [])
      assert.deepEqual(idsOf(await list(service, { ...query, value_type: 'usd' })), [])
    }),
    'filters are combined with AND': async (service) => {
      const { id } = await service.created(await achDebit(service))
      const both = await list(service, { value_type: 'USD', transfer_type: 'ach_debit', 'page[size]': '100' })
      assert.ok(idsOf(both).includes(id))
      for (const { source, destination } of both.transfers) {
        assert.ok([source.value_type, destination.value_type].includes('USD'))
        assert.ok([source.transfer_type, destination.transfer_type].includes('ach_debit'))
      }
      assert.deepEqual(idsOf(await list(service, { value_type: 'MXN', transfer_type: 'ach_debit' })), [])
    },
    'a transfer is found by the reference of either leg': needing(['simulations'], async (service) => {
      const { id } = await service.created(await payout(service))
      await service.reaches(id, 'processing')
      await service.advance(60)
      const { destination } = await service.reaches(id, 'complete')
      const hash = destination.transaction_id ?? ''
      assert.deepEqual(idsOf(await list(service, { transaction_id: hash })), [id])
      assert.deepEqual(idsOf(await list(service, { transaction_id: hash.slice(0, -1) })), [])
      assert.deepEqual(idsOf(await list(service, { transaction_id: hash, value_type: 'MXN' })), [])
      const debit = await service.created(await achDebit(service))
      const { source } = await service.reaches(debit.id, 'processing')
      assert.deepEqual(idsOf(await list(service, { transaction_id: source.transaction_id ?? '' })), [debit.id])
    }),
    'pages forward hold every transfer once, and pages back are the same pages': async (service) => {
      const wanted = await addFive(service)
      const pages: string[][] = []
      let page = await list(service, { 'page[size]': '2' })
      for (;;) {
        pages.push(idsOf(page))
        if (page.pagination.next === null || pages.length === 3) break
        page = await list(service, { 'page[size]': '2', 'page[after]': page.pagination.next })
      }
      assert.deepEqual(pages.flat().slice(0, 5), wanted)
      assert.equal(new Set(pages.flat()).size, pages.flat().length)
      const back = await list(service, { 'page[size]': '2', 'page[prev]': page.pagination.prev ?? '' })
      assert.deepEqual(idsOf(back), pages[1])
      const first = await list(service, { 'page[size]': '2', 'page[prev]': back.pagination.prev ?? '' })
      assert.deepEqual(idsOf(first), pages[0])
      assert.equal(first.pagination.prev, null)
    },
    'the forward cursor is also called page[next]': needing(['settled'], async (service) => {
      await addFive(service)
      const { pagination } = await list(service, { 'page[size]': '2' })
      const next = pagination.next ?? ''
      assert.deepEqual(
        await list(service, { 'page[size]': '2', 'page[next]': next }),
        await list(service, { 'page[size]': '2', 'page[after]': next }),
      )
    }),
    'filters persist across pages': async (service) => {
      await service.created(await achDebit(service))
      await addFive(service)
      const first = await list(service, { transfer_type: 'wire', 'page[size]': '2' })
      const second = await list(service, { 'page[size]': '100', 'page[after]': first.pagination.next ?? '' })
      assert.ok(second.transfers.length > 0)
      for (const { source, destination } of second.transfers) {
        assert.ok([source.transfer_type, destination.transfer_type].includes('wire'))
      }
    },
    'one request takes one cursor': async (service) => {
      await addFive(service)
      const { pagination } = await list(service, { 'page[size]': '2' })
      const cursor = pagination.next ?? ''
      const query = { 'page[after]': cursor, 'page[prev]': cursor }
      const answer = await service.call('GET', service.at('/transfers'), { query })
      assert.ok(answer.status >= 400 && answer.status < 500, answer.text)
    },
    'a cursor that is there twice is refused': async (service) => {
      await addFive(service)
      const { pagination } = await list(service, { 'page[size]': '2' })
      const cursor = encodeURIComponent(pagination.next ?? '')
      const twice = `/transfers?page[after]=${cursor}&page[after]=${cursor}`
      const answer = await service.call('GET', service.at(twice))
      assert.ok(answer.status >= 400 && answer.status < 500, answer.text)
    },
    'a cursor that is made up is refused': needing(['settled'], async (service) => {
      for (const cursor of ['', 'nonsense', unknownId]) {
        const answer = await service.call('GET', service.at('/transfers'), { query: { 'page[after]': cursor } })
        expectRefusal(answer, 422)
      }
    }),
  }),
  ...cases('Limits', {
    'a page has 25 transfers by default, and at most 100': async (service) => {
      const body = await wireOnramp(service)
      await Promise.all(Array.from({ length: 26 }, () => service.created(body)))
      assert.equal((await list(service, {})).transfers.length, 25)
      assert.equal((await list(service, { 'page[size]': '1' })).transfers.length, 1)
      await list(service, { 'page[size]': '100' })
    },
    'a page of 0, of 101 or of a word is refused': needing(['settled'], async (service) => {
      for (const size of ['0', '101', '-1', '2.5', 'all', '']) {
        const answer = await service.call('GET', service.at('/transfers'), { query: { 'page[size]': size } })
        expectRefusal(answer, 422)
      }
    }),
    'an inbound ACH of 50,000 USD passes and a cent more does not': async (service) => {
      const body = await achDebit(service, '50000.00')
      expectStatus(await service.create(body), 201)
      expectRefusal(await service.create({ ...body, amount: { value: '50000.01', currency: 'USD' } }), 422)
    },
    'a wire has no limit': async (service) => {
      expectStatus(await service.create(await wireOnramp(service, '987654321.00')), 201)
    },
    'a transfer of tokens has no limit': needing(['simulations'], async (service) => {
      expectStatus(await service.create(await payout(service, '987654321.00')), 201)
    }),
  }),
  ...cases('Errors', {
    'a list without a match is empty, not an error': async (service) => {
      const page = await list(service, { transaction_id: 'nothing-has-this' })
      assert.deepEqual(page.transfers, [])
      assert.deepEqual((await list(service, { automation_id: unknownId })).transfers, [])
    },
  }),
]
