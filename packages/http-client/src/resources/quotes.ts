import { parseQuoteRequest, type Quote, type QuoteRequest } from '@outlay/core'
import { refuseUnread } from '@outlay/core/adapter'
import { decodePage, encodePageQuery, iteratePages, type Page, type PageRequest } from '../pagination.ts'
import { path } from '../request.ts'
import type { WithRaw } from '../wire/json.ts'
import { decodeQuote, encodeQuoteRequest } from '../wire/quote.ts'
import { type CallOptions, type CreateOptions, create, type IterateOptions, type ResourceContext } from './resource.ts'

/** The result of a create. */
export interface CreatedQuote {
  readonly id: string
  /** The key that was sent: the caller's, or the generated one. */
  readonly idempotencyKey: string
  /** The quote; `undefined` when the service returned only its id. */
  readonly quote: WithRaw<Quote> | undefined
}

/** Rates between value types that are not worth the same, each guaranteed for one transfer. The service of Outlay has them. */
export interface QuotesResource {
  /**
   * Gets a quote. Its id is the `quoteId` of the transfer that uses it.
   *
   * @throws OutlayError the codes of `parseQuoteRequest`, before anything is sent; then `quote_refused` and the other refusals of the service
   */
  create(accountId: string, request: QuoteRequest, options?: CreateOptions): Promise<CreatedQuote>
  /** One quote; `undefined` when the account has none with this id. */
  get(accountId: string, quoteId: string, options?: CallOptions): Promise<WithRaw<Quote> | undefined>
  /** One page, newest first. */
  list(accountId: string, page?: PageRequest, options?: CallOptions): Promise<Page<WithRaw<Quote>>>
  /** All quotes of an account. The next page is read when the previous one is consumed. */
  iterate(accountId: string, page?: PageRequest, options?: IterateOptions): AsyncIterable<WithRaw<Quote>>
}

/** Makes the quotes resource of a client. */
export function createQuotes(context: ResourceContext): QuotesResource {
  const { requester, forwardCursor, catalog, dialect } = context
  const decode = (value: unknown) => decodeQuote(value, catalog)
  const list: QuotesResource['list'] = async (accountId, page = {}, options = {}) => {
    const where = path`/accounts/${accountId}/quotes` + encodePageQuery({}, page, forwardCursor)
    const body = await requester.perform({ accountId, method: 'GET', path: where }, options.signal)
    return decodePage(body, 'quotes', decode)
  }
  return {
    async create(accountId, request, options = {}) {
      const parsed = parseQuoteRequest(request, catalog)
      refuseUnread(request, parsed, 'amount, source and destination')
      const input = { accountId, path: path`/accounts/${accountId}/quotes`, body: encodeQuoteRequest(parsed) }
      const { full, ...created } = await create(context, input, options, decode)
      return { ...created, quote: full }
    },
    async get(accountId, quoteId, options = {}) {
      const call = { accountId, method: 'GET', path: path`/accounts/${accountId}/quotes/${quoteId}` } as const
      // The public contract has no such path. Its 404 says nothing about the quote.
      const find = dialect === 'public' ? requester.perform : requester.find
      const body = await find(call, options.signal)
      return body === undefined ? undefined : decode(body)
    },
    list,
    iterate: (accountId, page = {}, options = {}) =>
      iteratePages((after) => list(accountId, { ...page, after }, options), page.after, options.onUnreadable),
  }
}
