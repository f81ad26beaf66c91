import { isIP, SocketAddress } from 'node:net'
import type { Connection } from './connection.ts'

/**
 * The address that a request counts for: that of the connection, or behind `trustedProxies` proxies the one that the outermost of
 * them has added to `X-Forwarded-For`. A network of 64 bits is one address in IPv6. `undefined` when the server does not give it.
 */
export function clientAddressOf(
  connection: Connection | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number,
): string | undefined {
  const peer = connection?.address ?? connection?.incoming?.socket?.remoteAddress
  if (trustedProxies === 0) return networkOf(peer)
  const hops = (forwardedFor ?? '').split(',').flatMap((hop) => (hop.trim() === '' ? [] : [hop.trim()]))
  return networkOf(hops.at(-trustedProxies) ?? hops[0]) ?? networkOf(peer)
}

function networkOf(text: string | undefined): string | undefined {
  const address = text?.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '')
  if (address === undefined || isIP(address) === 0) return undefined
  if (isIP(address) === 4) return address
  const { address: canonical } = new SocketAddress({ address, family: 'ipv6' })
  const [before = '', after] = canonical.split('::')
  const groups = before === '' ? [] : before.split(':')
  if (after !== undefined) {
    const rest = after === '' ? [] : after.split(':')
    groups.push(...Array.from({ length: 8 - groups.length - rest.length }, () => '0'), ...rest)
  }
  return `${groups.slice(0, 4).join(':')}::/64`
}
