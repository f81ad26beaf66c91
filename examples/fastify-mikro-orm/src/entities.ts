import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** A saver. The balance is the sum of the saver's entries. */
export const Saver = defineEntity({
  name: 'Saver',
  properties: {
    id: p.text().primary(),
    /** Id of the saver's bank account at the service. */
    bankId: p.text(),
  },
})

/** A line of a saver's account, in dollars: money in, or out with a minus. Lines are only added. */
export const Entry = defineEntity({
  name: 'Entry',
  properties: {
    id: p.integer().primary(),
    saver: p.manyToOne(Saver),
    amount: p.decimal('string').precision(12).scale(2),
    reason: p.text(),
  },
})

/** Money that a saver takes out. The saver chooses its name. */
export const Withdrawal = defineEntity({
  name: 'Withdrawal',
  properties: {
    transferId: p.text().primary(),
    saver: p.manyToOne(Saver),
    name: p.text(),
    amount: p.decimal('string').precision(12).scale(2),
    status: p.enum(['on_its_way', 'paid', 'failed', 'returned']),
  },
  uniques: [{ properties: ['saver', 'name'] }],
})

export type Entry = InferEntity<typeof Entry>
export type Withdrawal = InferEntity<typeof Withdrawal>
