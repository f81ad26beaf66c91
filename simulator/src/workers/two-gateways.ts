import type { EngineOptions, Gateway } from '@outlay/core'
import type { PoolClient } from 'pg'

/** The gateways of a host that has two. */
export type GatewayName = 'default' | 'second'

/**
 * The options of an engine with two gateways. Both lead to one service, each with a client of its own, to which its keys belong: what leaves
 * through both is paid twice. The list of an account has the transfers of both, so neither reads it.
 */
export function pairOf(first: Gateway, second: Gateway): Pick<EngineOptions<PoolClient>, 'gateways' | 'route'> {
  return {
    gateways: { default: withoutList(first), second: withoutList(second) },
    route: ({ note }) => (/[13579]$/.test(note ?? '') ? 'second' : 'default'),
  }
}

const withoutList = ({ list: _, ...gateway }: Gateway): Gateway => gateway
