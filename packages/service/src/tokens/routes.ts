import { isId, notFound, requireAccount, requireClient } from '../clients/authenticate.ts'
import { listAccountIds } from '../clients/clients.ts'
import type { ServiceContext } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { pageOf, readPage } from '../http/pagination.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { transferView } from '../transfers/view.ts'
import { findTokenMove, listTokenMoves, type TokenMove, tokenMoves } from './token-moves.ts'

/** Mounts transfers as mints, burns and moves of tokens: of one account, and of all accounts of a client. */
export const tokensRoutes: RouteModule = (app, context) => {
  for (const move of tokenMoves) {
    app.get(`/accounts/:account_id/tokens/${move}`, (c) => answerList(c, context, move, ofAccount))
    app.get(`/accounts/:account_id/tokens/${move}/:transfer_id`, (c) => answerOne(c, context, move, ofAccount))
    app.get(`/tokens/${move}`, (c) => answerList(c, context, move, ofClient))
    app.get(`/tokens/${move}/:transfer_id`, (c) => answerOne(c, context, move, ofClient))
  }
}

/** Whose transfers a request reads. */
interface Scope {
  readonly clientId: string
  readonly accountIds: readonly string[]
}

type FindScope = (c: ServiceRequest, context: ServiceContext) => Promise<Scope>

const ofAccount: FindScope = async (c, context) => {
  const { accountId, clientId } = await requireAccount(c, context, 'transfers:read')
  return { clientId, accountIds: [accountId] }
}

const ofClient: FindScope = async (c, context) => {
  const { clientId } = await requireClient(c, context, 'transfers:read')
  return { clientId, accountIds: await listAccountIds(asClient(context, clientId), context, clientId) }
}

async function answerList(
  c: ServiceRequest,
  context: ServiceContext,
  move: TokenMove,
  find: FindScope,
): Promise<Response> {
  const { clientId, accountIds } = await find(c, context)
  const page = readPage(c, context, [])
  const { direction, position } = page
  const query = { move, accountIds, direction, position, limit: page.size + 1 }
  const found = { rows: await listTokenMoves(asClient(context, clientId), context, query) }
  const { rows, pagination } = pageOf(context, page, found)
  return c.json({ [move]: rows.map(transferView), pagination })
}

async function answerOne(
  c: ServiceRequest,
  context: ServiceContext,
  move: TokenMove,
  find: FindScope,
): Promise<Response> {
  const { clientId, accountIds } = await find(c, context)
  const transferId = c.req.param('transfer_id') ?? ''
  const row = isId(transferId)
    ? await findTokenMove(asClient(context, clientId), context, { move, accountIds }, transferId)
    : undefined
  if (row === undefined) throw notFound('transfer')
  return c.json(transferView(row))
}
