import type { Draw } from './draw.ts'

/** Several people resubmit one ended transfer at once, as it was or corrected. */
export interface Correct {
  readonly do: 'correct'
  /** Among those that have failed or are canceled. */
  readonly choice: number
  readonly callers: number
  /** `apart`: each has another amount. */
  readonly what: 'nothing' | 'amount' | 'payee' | 'apart'
  /** Whether each has a key of its own. */
  readonly hasOwnKeys: boolean
  readonly isSnapshot: boolean
  /** Whether answers that are held arrive meanwhile. */
  readonly answersArrive: boolean
}

/** Draws who resubmits what. */
export const drawCorrection = ({ below, oneOf, fraction, some }: Draw): Correct => ({
  do: 'correct',
  choice: some(),
  callers: 1 + below(3),
  what: oneOf(['nothing', 'amount', 'payee', 'apart']),
  hasOwnKeys: fraction() < 0.5,
  isSnapshot: fraction() < 0.3,
  answersArrive: fraction() < 0.3,
})
