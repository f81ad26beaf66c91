import { expectTypeOf, it } from 'vitest'
import { Column, rowDecoder } from './row-decoder.ts'

it('infers the result from the columns', () => {
  const read = rowDecoder('transfer', {
    id: Column.text,
    stage: Column.word<'queued' | 'settled'>(),
    attempt: Column.integer,
    request: Column.json<{ readonly amount: string }>(),
    types: Column.texts,
    remoteId: Column.from('remote', Column.nullable(Column.text)),
    transferType: Column.or(Column.text, ''),
    createdAt: Column.or(Column.date, undefined),
    environment: Column.from('place', Column.optional(Column.text)),
  })
  const decoded = read({})
  expectTypeOf(decoded.stage).toEqualTypeOf<'queued' | 'settled'>()
  expectTypeOf(decoded.attempt).toEqualTypeOf<number>()
  expectTypeOf(decoded.request).toEqualTypeOf<{ readonly amount: string }>()
  expectTypeOf(decoded.types).toEqualTypeOf<readonly string[]>()
  expectTypeOf(decoded.remoteId).toEqualTypeOf<string | null>()
  expectTypeOf(decoded.transferType).toEqualTypeOf<string>()
  expectTypeOf(decoded.createdAt).toEqualTypeOf<Date | undefined>()
  expectTypeOf<Pick<typeof decoded, 'environment'>>().toEqualTypeOf<{ readonly environment?: string }>()
})
