import { isId, notFound, requireAccount } from '../clients/authenticate.ts'
import { asClient } from '../database/tenant.ts'
import { pageOf, readPage } from '../http/pagination.ts'
import type { RouteModule } from '../http/request.ts'
import { createIdempotently } from '../idempotency/idempotent.ts'
import { createQuote } from './creation.ts'
import type { Quotes } from './port.ts'
import { findQuote, listQuotes, quoteView } from './quotes.ts'

/** Makes the module that mounts quotes: create, list, read. They have the scopes of transfers. */
export const quotesRoutes =
  (quotes: Quotes): RouteModule =>
  (app, context) => {
    app.post('/accounts/:account_id/quotes', (c) =>
      createIdempotently(c, context, { scope: 'transfers:write' }, (input) => createQuote(context, quotes, input)),
    )

    app.get('/accounts/:account_id/quotes', async (c) => {
      const { accountId, clientId } = await requireAccount(c, context, 'transfers:read')
      const page = readPage(c, context, [])
      const { direction, position, size } = page
      const query = { direction, position, limit: size + 1 }
      const found = { rows: await listQuotes(asClient(context, clientId), context, accountId, query) }
      const { rows, pagination } = pageOf(context, page, found)
      const now = quotes.now()
      return c.json({ quotes: rows.map((row) => quoteView(row, now)), pagination })
    })

    app.get('/accounts/:account_id/quotes/:quote_id', async (c) => {
      const { accountId, clientId } = await requireAccount(c, context, 'transfers:read')
      const quoteId = c.req.param('quote_id')
      if (!isId(quoteId)) throw notFound('quote')
      const row = await findQuote(asClient(context, clientId), context, accountId, quoteId)
      if (row === undefined) throw notFound('quote')
      return c.json(quoteView(row, quotes.now()))
    })
  }
