import { z } from 'zod'
import { component } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import { pageParameters, paginationSchema } from '../schema/primitive.ts'
import { transferListExample, transferSchema } from '../transfers/schema.ts'
import { type TokenMove, tokenMoves } from './token-moves.ts'

const words: Readonly<Record<TokenMove, { readonly name: string; readonly one: string; readonly what: string }>> = {
  mints: { name: 'Mint', one: 'a mint', what: 'Transfers in which dollars become tokens.' },
  burns: { name: 'Burn', one: 'a burn', what: 'Transfers in which tokens become dollars.' },
  transfers: { name: 'TokenTransfer', one: 'a move of tokens', what: 'Swaps and payouts.' },
}

const listOf = (move: TokenMove) => {
  const { transfers, pagination } = transferListExample
  return component(
    `${words[move].name}List`,
    z.object({ [move]: z.array(transferSchema), pagination: paginationSchema }),
    { description: `One page. ${words[move].what}`, examples: [{ [move]: transfers, pagination }] },
  )
}

const read = { method: 'get', tag: 'Tokens', access: 'transfers:read' } as const

/** Operations that read transfers by what they do to tokens. They are other views of transfers, which are created there. */
export const tokensOperations: readonly Operation[] = tokenMoves.flatMap((move): readonly Operation[] => {
  const { name, one, what } = words[move]
  const list = { 200: { description: 'A page.', schema: listOf(move) } }
  const single = { 200: { description: 'The transfer.', schema: transferSchema } }
  const paged = { ...read, query: pageParameters, answers: list, description: `${what} Newest first.` }
  const found = { ...read, answers: single, description: 'The same as the transfer of this id.' }
  return [
    {
      ...paged,
      id: `listAccount${name}s`,
      path: `/accounts/:account_id/tokens/${move}`,
      summary: `List the ${move} of an account`,
    },
    {
      ...found,
      id: `getAccount${name}`,
      path: `/accounts/:account_id/tokens/${move}/:transfer_id`,
      summary: `Read ${one} of an account`,
    },
    { ...paged, id: `list${name}s`, path: `/tokens/${move}`, summary: `List the ${move} of all accounts` },
    { ...found, id: `get${name}`, path: `/tokens/${move}/:transfer_id`, summary: `Read ${one}` },
  ]
})
