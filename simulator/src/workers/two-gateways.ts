import type { EngineOptions, Gateway } from '@outlay/core'
import type { PoolClient } from 'pg'

/** The gateways of a host that has two. */
export type GatewayName = 'default' | 'second'

/**
 * The options of an engine with two gateways. Both lead to one service, each with a client of its own, to which its keys belong: what leaves
 * through both is paid twice. The list of an account has the transfers of both, so neither reads it.
 */
export function pairOf(
  first: Gateway,
  second: Gateway,
): Pick<EngineOptions<PoolClient>, 'gateways' | 'route' | 'reroute'> {
  return {
    gateways: { default: closing(withoutList(first)), second: withoutList(second) },
    reroute: (_request, _accountId, { gateway }) => (gateway === 'default' ? 'second' : 'default'),
    route: ({ note }) => (/[13579]$/.test(note ?? '') ? 'second' : 'default'),
  }
}

/** The key is closed, and no earlier request with it can have paid. */
const closed = { keyEvaluated: true, nothingMoved: true } as const

/** Refuses some payouts for good, whatever key they have, as a provider does that does not serve a corridor. */
const closing = (gateway: Gateway): Gateway => ({
  ...gateway,
  submit: async (submission, options) =>
    /[048]$/.test(submission.request.note ?? '')
      ? { ...{ outcome: 'rejected', code: 'corridor_closed' }, detail: 'It does not pay there.', ...closed }
      : gateway.submit(submission, options),
})

const withoutList = ({ list: _, ...gateway }: Gateway): Gateway => gateway
