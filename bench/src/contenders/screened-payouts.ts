import { inTransaction } from '../database.ts'
import type { Drainer } from '../drainer.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { openWholePayouts } from './whole-payouts.ts'

/** How payouts are enqueued. */
interface ScreenedOptions {
  readonly name: string
  readonly database: string
  /** Says who created each, which a policy asks for. */
  readonly hasCreator: boolean
  /** Sets a policy that asks for screening, which lets each pass at once. */
  readonly isScreened: boolean
}

/** Payouts that are screened, or not, from the host's transaction to their end. */
export function openScreenedPayouts(serverUrl: string, options: ScreenedOptions): Promise<Drainer> {
  const { name, database, hasCreator, isScreened } = options
  return openWholePayouts(serverUrl, {
    name,
    database,
    tables: ['hold', 'screening', 'screening_answer', 'transfer_creator'],
    ...(isScreened ? { screen: async () => ({ result: 'pass' }) } : {}),
    async prepare({ database, sender }) {
      if (!isScreened) return
      const policy = { name: 'sanctions', screen: 'all payees' }
      await inTransaction(database.pool, async (client) => {
        await sender.policies.set(client, [policy], { actor: 'bench', reason: 'measured' })
      })
    },
    begin: () =>
      Promise.resolve({
        request: (n) => ({ ...sampleTransfer(n), ...(hasCreator ? { createdBy: 'bench' } : {}) }),
      }),
    async isOver({ database }) {
      const passes = await database.count(`select count(*) from outlay.screening_answer where result = 'pass'`)
      const transfers = await database.count('select count(*) from outlay.transfer')
      if (passes !== (isScreened ? transfers : 0))
        throw new Error(`${passes} of ${transfers} transfers passed a screening.`)
      return true
    },
  })
}
