import { describe, expect, it } from 'vitest'
import type { DepositFact, DepositVerdict, VirtualAccountFact, VirtualAccountOrder } from '../port.ts'
import { eventually, type RailsProcess, signalled, startProcess } from './rails-process.ts'
import type { RailsSubject, VirtualAccountHooks } from './rails-subject.ts'

const verdict: DepositVerdict = { outcome: 'returned', reason: 'A test sent it' }

/** A process that listens for facts about virtual accounts. It rejects the first `failures` of each kind of fact. */
interface Listener {
  readonly process: RailsProcess
  readonly opened: VirtualAccountFact[]
  readonly deposits: DepositFact[]
  open(order: VirtualAccountOrder): Promise<void>
  /** Opens an account and waits for the report. */
  opens(order: VirtualAccountOrder): Promise<VirtualAccountFact>
}

/** Declares the cases about virtual accounts. */
export function describeVirtualAccounts(subject: RailsSubject, hooks: VirtualAccountHooks): void {
  describe('virtual accounts', () => {
    it('are one per automation, however often they are ordered', async () => {
      const [one, other] = [await listen(subject, hooks), await listen(subject, hooks)]
      const order = hooks.order()
      await Promise.all([one, other, one, other].map(({ open }) => open(order)))
      await hooks.letOpen?.()
      const reported = () => [...one.opened, ...other.opened].filter((fact) => fact.automationId === order.automationId)
      await eventually(subject, () => expect(reported()).not.toEqual([]))
      await other.process.rails.stop()
      await one.open(order)
      const next = await one.opens(hooks.order())
      const numbers = new Set(reported().map(({ instructions }) => instructions.accountNumber))
      expect(numbers.size).toBe(1)
      expect(numbers).not.toContain(next.instructions.accountNumber)
      expect(next.instructions.routingNumber).toMatch(/^\d{9}$/)
      expect(next.instructions.bankName).not.toBe('')
    })

    it('are reported again as open when the fact was not accepted', async () => {
      const listener = await listen(subject, hooks, 2)
      const order = hooks.order()
      await listener.opens(order)
      const times = () => listener.opened.filter(({ automationId }) => automationId === order.automationId).length
      await eventually(subject, () => expect(times()).toBeGreaterThanOrEqual(3))
    })

    it('report a deposit until it has a verdict', async () => {
      const first = await listen(subject, hooks)
      const order = hooks.order()
      const { instructions } = await first.opens(order)
      await first.process.rails.stop()
      const { accountNumber, routingNumber } = instructions
      const listener = await listen(subject, hooks, 2)
      const amount = { value: '12.34', currency: 'USD' }
      await hooks.send(order.automationId, amount)
      const reported = () => listener.deposits.filter((deposit) => deposit.accountNumber === accountNumber)
      await eventually(subject, () => expect(reported().length).toBeGreaterThanOrEqual(3))
      for (const deposit of reported()) {
        expect(deposit).toMatchObject({
          routingNumber,
          amount,
          transferType: 'wire',
          reference: reported()[0]?.reference,
        })
      }
      expect(reported()[0]?.reference).toMatch(/./)
    })

    it('report each of two equal payments', async () => {
      const listener = await listen(subject, hooks)
      const order = hooks.order()
      const { accountNumber } = (await listener.opens(order)).instructions
      const amount = { value: '5.00', currency: 'USD' }
      await Promise.all([hooks.send(order.automationId, amount), hooks.send(order.automationId, amount)])
      const references = () =>
        new Set(
          listener.deposits.filter((one) => one.accountNumber === accountNumber).map(({ reference }) => reference),
        )
      await eventually(subject, () => expect(references().size).toBe(2))
    })
  })
}

async function listen(subject: RailsSubject, hooks: VirtualAccountHooks, failures = 0): Promise<Listener> {
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
        if (fact === undefined) throw new Error(`The account of ${order.automationId} was not reported as open.`)
        return fact
      })
    },
  }
}
