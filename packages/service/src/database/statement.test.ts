import { Column, rowDecoder } from '@outlay/core/adapter'
import { expect, it } from 'vitest'
import { type Executor, type ExecutorQuery, type Row, run, statement } from './statement.ts'

const context = { schema: 'money' }
const readAmount = rowDecoder('balance', { amountValue: Column.text })
const selectAmounts = statement('amounts', 'select amount_value from {{schema}}.balance where id = $1', readAmount)

/** An executor that gives the rows of the test, as a driver does. */
function executorOf(rows: readonly Row[]) {
  const sent: ExecutorQuery[] = []
  const executor: Executor = {
    send: async (query) => {
      sent.push(query)
      return { rows }
    },
  }
  return { executor, sent }
}

it('a statement is sent under its name in the schema, and gives decoded rows', async () => {
  const { executor, sent } = executorOf([{ amount_value: '1.10', other: 1 }])
  expect(await run(executor, context, selectAmounts, ['a'])).toStrictEqual([{ amountValue: '1.10' }])
  await run(executor, { ...context, prepared: false }, selectAmounts, ['a'])
  const query = { text: 'select amount_value from money.balance where id = $1', values: ['a'] }
  expect(sent).toStrictEqual([{ name: 'money.amounts', ...query }, query])
})

it('money that the driver gives as a number is refused', async () => {
  const { executor } = executorOf([{ amount_value: '1.10' }, { amount_value: 1.1 }])
  await expect(run(executor, context, selectAmounts)).rejects.toThrow(
    'The balance row has a number in the column "amount_value", not text.',
  )
})

it('rows of a statement without a decoder are counted, never read', async () => {
  const { executor } = executorOf([{ amount_value: '1.10' }, {}])
  expect(await run(executor, context, statement('touch', 'update {{schema}}.balance'))).toStrictEqual([true, true])
})
