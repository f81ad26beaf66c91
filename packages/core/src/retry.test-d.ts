import { expectTypeOf, test } from 'vitest'
import type { SubmitResult } from './ports/gateway.ts'
import type { AnswerOutcome } from './retry.ts'

test('an answer comes to exactly the outcomes that a gateway has', () => {
  expectTypeOf<AnswerOutcome>().toEqualTypeOf<SubmitResult['outcome']>()
})
