import { describe, expect, it } from 'vitest'
import type { DepositFact, DepositVerdict, VirtualAccountFact, VirtualAccountOrder } from '../port.ts'
import { eventually, type RailsProcess, signalled, startProcess } from './rails-process.ts'
import type { RailsSubject, VirtualAccountHooks } from './rails-subject.ts'

const verdict: DepositVerdict = { outcome: 'returned', reason: 'A test sent it' }

/** What a process hears about virtual accounts. The first `failures` of each kind of fact are not taken. */
interface Hearing {
  readonly process: RailsProcess
  readonly opened: VirtualAccountFact[]
  readonly deposits: DepositFact[]
  open(order: VirtualAccountOrder): Promise<void>
  /** Opens an account and waits until that is told. */
  opens(order: VirtualAccountOrder): Promise<VirtualAccountFact>
}

/** Declares the cases about virtual accounts. */
export function describeVirtualAccounts(subject: RailsSubject, hooks: VirtualAccountHooks): void {
  describe('virtual accounts', () => {
    it('are one per automation, however often they are asked for', async () => {
      const [one, other] = [await hear(subject, hooks), await hear(subject, hooks)]
      const order = hooks.order()
      await Promise.all([one, other, one, other].map(({ open }) => open(order)))
      await hooks.letOpen?.()
      const told = () => [...one.opened, ...other.opened].filter((fact) => fact.automationId === order.automationId)
      await eventually(subject, () => expect(told()).not.toEqual([]))
      await other.process.rails.stop()
      await one.open(order)
      const next = await one.opens(hooks.order())
      const numbers = new Set(told().map(({ instructions }) => instructions.accountNumber))
      expect(numbers.size).toBe(1)
      expect(numbers).not.toContain(next.instructions.accountNumber)
      expect(next.instructions.routingNumber).toMatch(/^\d{9}$/)
      expect(next.instructions.bankName).not.toBe('')
    })

    it('are told again to be open when that was not taken', async () => {
      const hearing = await hear(subject, hooks, 2)
      const order = hooks.order()
      await hearing.opens(order)
      const times = () => hearing.opened.filter(({ automationId }) => automationId === order.automationId).length
      await eventually(subject, () => expect(times()).toBeGreaterThanOrEqual(3))
    })

    it('tell a deposit until it has a verdict', async () => {
      const opening = await hear(subject, hooks)
      const order = hooks.order()
      const { instructions } = await opening.opens(order)
      await opening.process.rails.stop()
      const { accountNumber, routingNumber } = instructions
      const hearing = await hear(subject, hooks, 2)
      const amount = { value: '12.34', currency: 'USD' }
      await hooks.send(order.automationId, amount)
      const told = () => hearing.deposits.filter((deposit) => deposit.accountNumber === accountNumber)
      await eventually(subject, () => expect(told().length).toBeGreaterThanOrEqual(3))
      for (const deposit of told()) {
        expect(deposit).toMatchObject({ routingNumber, amount, transferType: 'wire', reference: told()[0]?.reference })
      }
      expect(told()[0]?.reference).toMatch(/./)
    })

    it('tell each of two payments that are alike', async () => {
      const hearing = await hear(subject, hooks)
      const order = hooks.order()
      const { accountNumber } = (await hearing.opens(order)).instructions
      const amount = { value: '5.00', currency: 'USD' }
      await Promise.all([hooks.send(order.automationId, amount), hooks.send(order.automationId, amount)])
      const references = () =>
        new Set(hearing.deposits.filter((one) => one.accountNumber === accountNumber).map(({ reference }) => reference))
      await eventually(subject, () => expect(references().size).toBe(2))
    })
  })
}

async function hear(subject: RailsSubject, hooks: VirtualAccountHooks, failures = 0): Promise<Hearing> {
  const opened: VirtualAccountFact[] = []
  const deposits: DepositFact[] = []
  const seen = new Map<string, number>()
  const failAtFirst = (key: string): void => {
    const times = (seen.get(key) ?? 0) + 1
    seen.set(key, times)
    if (times <= failures) throw new Error('Not now.')
  }
  const process = await startProcess(subject, {
    virtualAccounts: {
      async opened(fact) {
        opened.push(fact)
        failAtFirst(fact.automationId)
      },
      async deposited(fact) {
        deposits.push(fact)
        failAtFirst(`${fact.transferType} ${fact.reference}`)
        return verdict
      },
    },
  })
  const open = async (order: VirtualAccountOrder): Promise<void> => {
    const { virtualAccounts } = process.rails
    if (virtualAccounts === undefined) throw new Error('The subject has virtual accounts, and its rails have none.')
    await virtualAccounts.open(order, signalled())
  }
  return {
    process,
    opened,
    deposits,
    open,
    async opens(order) {
      await open(order)
      await hooks.letOpen?.()
      return eventually(subject, () => {
        const fact = opened.find(({ automationId }) => automationId === order.automationId)
        if (fact === undefined) throw new Error(`The account of ${order.automationId} was not told to be open.`)
        return fact
      })
    },
  }
}
