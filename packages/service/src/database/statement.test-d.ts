import { Column, rowDecoder } from '@outlay/core/adapter'
import { expectTypeOf, it } from 'vitest'
import { type Executor, run, statement } from './statement.ts'

declare const executor: Executor
const context = { schema: 'money' }
const selectBalance = statement('balance', 'select 1', rowDecoder('balance', { available: Column.text }))

it('rows are of the type that the decoder of their statement gives', async () => {
  const [row] = await run(executor, context, selectBalance)
  expectTypeOf(row?.available).toEqualTypeOf<string | undefined>()
})

it('rows without a decoder have no columns', async () => {
  const touch = statement('touch', 'select 1')
  expectTypeOf(await run(executor, context, touch)).toEqualTypeOf<readonly true[]>()
  // @ts-expect-error A type is not a decoder.
  await run<{ readonly available: string }>(executor, context, touch)
})
