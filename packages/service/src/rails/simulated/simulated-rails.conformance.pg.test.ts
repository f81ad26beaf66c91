import { randomBytes } from 'node:crypto'
import { Id } from '@outlay/core'
import { silentLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { migrateService } from '../../database/migrations.ts'
import { describeRails } from '../conformance/index.ts'
import type { RailInstruction, RailLeg } from '../port.ts'
import { createSimulatedRails } from './simulated-rails.ts'
import { representsAt } from './timing.ts'

const schema = 'rails_conformance'
const database = await testDatabase({
  role: 'ordinary',
  async prepare(url) {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    await migrateService({ pool, schema })
    await pool.end()
  },
})

const clock = { now: () => new Date() }
const random = { bytes: (length: number) => randomBytes(length), fraction: () => Math.random() }
const nextId = () => Id.generate(clock, random)

const wallet: RailLeg = { valueType: 'USDC', transferType: 'base', custodial: true, address: '0x1' }
const bank = { owner: 'Jane Roe', accountNumber: '12300', routingNumber: '021000021', accountType: 'checking' }
const bankLeg: RailLeg = { valueType: 'USD', transferType: 'ach_credit', custodial: false, address: '', bank }

/** By its amount, a payment that stays in progress. */
const instruct = (): RailInstruction => ({
  transferId: nextId(),
  accountId: nextId(),
  flow: 'offramp',
  amount: { value: '6660.04', currency: 'USD' },
  statementName: 'Acme Incorporated',
  source: wallet,
  destination: bankLeg,
})

describeRails('the simulated rails', async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const connect = async () => createSimulatedRails({ pool, schema, clock, logger: silentLogger, tickIntervalMs: 10 })
  // The other side has no listeners, so the rails under test find and report its changes.
  const { simulation } = await connect()
  return {
    connect,
    instruct,
    settle: (transferId) => simulation.settle(transferId),
    reject: (transferId) => simulation.reject(transferId, { code: 'account_closed', detail: 'The account is closed' }),
    returnPayment: (transferId) => simulation.returnWith(transferId, 'R02'),
    retriedPayments: {
      instruct: () => ({
        ...instruct(),
        flow: 'onramp',
        source: { ...bankLeg, addressId: nextId(), transferType: 'ach_debit' },
        destination: wallet,
      }),
      fail: (transferId) => simulation.returnWith(transferId, 'R01'),
      letRetry: () => {
        const now = simulation.now()
        return simulation.advance(representsAt(now).getTime() - now.getTime() + 1)
      },
    },
    instructRefused: () => ({
      ...instruct(),
      destination: { ...bankLeg, bank: { ...bank, accountNumber: '1230422' } },
    }),
    inboundWires: {
      instruct: () => ({
        ...instruct(),
        flow: 'onramp',
        amount: { value: '1000.00', currency: 'USD' },
        source: { valueType: 'USD', transferType: 'wire', custodial: false, address: '' },
        destination: wallet,
      }),
      arrive: (transferId) => simulation.receiveWire(transferId, { senderName: 'Jane Roe' }),
    },
    virtualAccounts: {
      order: () => ({
        automationId: nextId(),
        accountId: nextId(),
        beneficiary: { name: 'Acme Incorporated', address: '1 Main Street, Springfield, IL 62701' },
      }),
      letOpen: () => simulation.advance(2_000),
      send: (automationId, amount) =>
        simulation.receiveDeposit({ automationId, transferType: 'wire', amount: amount.value }),
    },
    close: () => pool.end(),
  }
})
