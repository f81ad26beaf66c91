import { type AutomationRequest, parseAutomationRequest } from '@outlay/core'
import { decodePage, encodePageQuery, iteratePages, type Page, type PageRequest } from '../pagination.ts'
import { path } from '../request.ts'
import { decodeAutomation, encodeAutomationRequest, type ReadAutomation } from '../wire/automation.ts'
import type { WithRaw } from '../wire/json.ts'
import {
  type CallOptions,
  type CreateOptions,
  create,
  type IterateOptions,
  type ResourceContext,
  readLoosely,
} from './resource.ts'

/** Changes to an automation. */
export interface AutomationChange {
  readonly name?: string | undefined
  /** `disabled` disables it, `active` enables it again, `archived` ends it permanently. */
  readonly status?: 'active' | 'disabled' | 'archived' | undefined
  /** The address that later deposits go to. It gets the same value type on the same chain. */
  readonly addressId?: string | undefined
}

/** The result of a create. */
export interface CreatedAutomation {
  readonly id: string
  /** The key that was sent: the caller's, or the generated one. */
  readonly idempotencyKey: string
  /** The automation; `undefined` when the service returned only its id. */
  readonly automation: WithRaw<ReadAutomation> | undefined
}

/** Virtual bank accounts whose deposits become transfers. Specification: "Automations". */
export interface AutomationsResource {
  /**
   * Creates an automation. It has funding instructions when it is active.
   *
   * @throws OutlayError the codes of `parseAutomationRequest`, before anything is sent; then the refusals of the service
   */
  create(accountId: string, request: AutomationRequest, options?: CreateOptions): Promise<CreatedAutomation>
  /** One automation; `undefined` when the account has none with this id. */
  get(accountId: string, automationId: string, options?: CallOptions): Promise<WithRaw<ReadAutomation> | undefined>
  /** The automations of an account. One page if the service paginates. */
  list(accountId: string, page?: PageRequest, options?: CallOptions): Promise<Page<WithRaw<ReadAutomation>>>
  /** All automations of an account. The next page is read when the previous one is consumed. */
  iterate(accountId: string, page?: PageRequest, options?: IterateOptions): AsyncIterable<WithRaw<ReadAutomation>>
  /** Changes an automation. Returns the new record, or `undefined` when the service does not return it. */
  update(
    accountId: string,
    automationId: string,
    change: AutomationChange,
    options?: CallOptions,
  ): Promise<WithRaw<ReadAutomation> | undefined>
}

/** Makes the automations resource of a client. */
export function createAutomations(context: ResourceContext): AutomationsResource {
  const { requester, forwardCursor, catalog } = context
  const decode = (value: unknown) => decodeAutomation(value, catalog)
  const list: AutomationsResource['list'] = async (accountId, page = {}, options = {}) => {
    const where = path`/accounts/${accountId}/automations` + encodePageQuery({}, page, forwardCursor)
    const body = await requester.perform({ accountId, method: 'GET', path: where }, options.signal)
    return decodePage(body, 'automations', decode)
  }
  return {
    async create(accountId, request, options = {}) {
      const body = encodeAutomationRequest(parseAutomationRequest(request, catalog))
      const input = { accountId, path: path`/accounts/${accountId}/automations`, body }
      const { full, ...created } = await create(context, input, options, decode)
      return { ...created, automation: full }
    },
    async get(accountId, automationId, options = {}) {
      const call = { accountId, method: 'GET', path: path`/accounts/${accountId}/automations/${automationId}` } as const
      const body = await requester.find(call, options.signal)
      return body === undefined ? undefined : decode(body)
    },
    list,
    iterate: (accountId, page = {}, options = {}) =>
      iteratePages((after) => list(accountId, { ...page, after }, options), page.after, options.onUnreadable),
    async update(accountId, automationId, { name, status, addressId }, options = {}) {
      const where = path`/accounts/${accountId}/automations/${automationId}`
      const body = JSON.stringify({ name, status, address_id: addressId })
      const call = { accountId, method: 'PATCH', path: where, body } as const
      return readLoosely(await requester.perform(call, options.signal), decode)
    },
  }
}
