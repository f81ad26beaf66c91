import { type LookupAddress, type LookupAllOptions, Resolver } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { OutlayError } from '@outlay/core'
import { Agent, buildConnector } from 'undici/index.js'
import type { ServiceContext } from '../context.ts'

const blocked = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  blocked.addSubnet(network, prefix, 'ipv4')
// Of IPv6, only 2000::/3 is allocated for use on the internet. The forms that embed an IPv4 address in their own prefix
// (compatible, translated, NAT64) are outside of it. Teredo and 6to4 are inside, so they are listed.
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  blocked.addSubnet(network, prefix, 'ipv6')

const unicast = new BlockList()
unicast.addSubnet('2000::', 3, 'ipv6')
const mapped = new BlockList()
mapped.addSubnet('::ffff:0:0', 96, 'ipv6')

/** True for an IP address that is not on the public internet, including IPv4 inside IPv6, and for text that is not an IP address. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return true
  if (family === 4) return blocked.check(address, 'ipv4')
  // The list compares an IPv4-mapped address with its IPv4 networks.
  if (blocked.check(address, 'ipv6')) return true
  return !unicast.check(address, 'ipv6') && !mapped.check(address, 'ipv6')
}

/** Restrictions of outgoing requests. */
export interface OutgoingPolicy {
  /** Allows plain HTTP and private addresses, for local development. */
  readonly allowPrivate: boolean
  /** Ports of public hosts. Default 443 and 8443. */
  readonly ports?: readonly number[] | undefined
}

/** Ports that receivers of webhooks listen on. On any other one, a tenant could have requests sent to mail servers and databases. */
const webhookPorts: readonly number[] = [443, 8443]

/** The policy of a service. */
export function outgoingPolicyOf(
  context: Pick<ServiceContext, 'allowPrivateWebhooks' | 'webhookPorts'>,
): OutgoingPolicy {
  return { allowPrivate: context.allowPrivateWebhooks ?? false, ports: context.webhookPorts }
}

/**
 * Reads a tenant's URL for outgoing requests: `https`, no credentials, no private address, a port of the list.
 * @throws OutlayError `invalid_request` with the field.
 */
export function parseOutgoingUrl(text: unknown, field: string, policy: OutgoingPolicy): URL {
  const refuse = (message: string) => new OutlayError('invalid_request', message, { field })
  if (typeof text !== 'string' || text.length > 2_048 || !URL.canParse(text)) throw refuse('must be a URL')
  const url = new URL(text)
  // A fragment is never sent, so URLs that differ in it are the same.
  url.hash = ''
  if (url.protocol !== 'https:' && !(policy.allowPrivate && url.protocol === 'http:'))
    throw refuse('must be an https URL')
  if (url.username !== '' || url.password !== '') throw refuse('must not hold credentials')
  if (!policy.allowPrivate && isPrivateHost(url.hostname)) throw refuse('must not be a private address')
  if (!isOpenPort(url, policy)) throw refuse(`must have one of the ports ${portsOf(policy).join(', ')}`)
  return url
}

/** How names resolve, and which addresses are forbidden. */
export interface OutgoingNetwork {
  /** Resolves a name to all of its addresses. */
  resolve(
    hostname: string,
    options: LookupAllOptions,
    callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
  ): void
  isPrivate(address: string): boolean
}

/**
 * Resolves public names by DNS alone. The system's lookup holds one of the few threads of the process for as long as a name server
 * does not answer: a tenant whose names hang would keep every other name from being resolved, the database's too.
 */
export function createNames(
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'> = new Resolver({ timeout: 2_000, tries: 2 }),
): OutgoingNetwork['resolve'] {
  return (hostname, _, callback) => {
    const found: LookupAddress[] = []
    let unanswered = 2
    const add = (family: 4 | 6) => (error: NodeJS.ErrnoException | null, addresses: string[]) => {
      if (error === null) found.push(...addresses.map((address) => ({ address, family })))
      unanswered -= 1
      if (unanswered === 0) callback(found.length === 0 ? error : null, found)
    }
    resolver.resolve4(hostname, add(4))
    resolver.resolve6(hostname, add(6))
  }
}

const internet: OutgoingNetwork = { resolve: createNames(), isPrivate: isPrivateAddress }

/**
 * Makes the dispatcher for tenants' URLs. Every connection is checked when it is made: the literal in the URL, or each address that
 * its name resolves to. The connection uses the checked addresses and does not resolve the name again, so DNS rebinding is refused
 * too. Redirects are not followed.
 */
export function createOutgoingAgent(
  policy: OutgoingPolicy,
  timeoutMs: number,
  network: OutgoingNetwork = internet,
): Agent {
  const connect = buildConnector({
    timeout: timeoutMs,
    ...(policy.allowPrivate ? {} : { lookup: guardedLookup(network) }),
  })
  return new Agent({
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect(options, callback) {
      const host = bare(options.hostname)
      const isPrivate = isIP(host) === 0 ? isPrivateHost(host) : network.isPrivate(host)
      if (!policy.allowPrivate && isPrivate) {
        callback(new PrivateAddressError(options.hostname), null)
        return
      }
      if (!isOpenPort(options, policy)) {
        callback(new PortError(options.port), null)
        return
      }
      connect(options, callback)
    },
  })
}

/** The connection was to a private address. */
class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError'

  constructor(host: string) {
    super(`${host} is or resolves to a private address.`)
  }
}

/** The connection was to a port that is not in the list. */
class PortError extends Error {
  override readonly name = 'PortError'

  constructor(port: string) {
    super(`The port ${port} is not open for webhooks.`)
  }
}

const portsOf = ({ ports = webhookPorts }: OutgoingPolicy): readonly number[] => ports

/** Where private addresses are allowed, they have every port, and plain HTTP to public hosts has its own. */
function isOpenPort(
  target: { readonly protocol: string; readonly hostname: string; readonly port: string },
  policy: OutgoingPolicy,
): boolean {
  if (policy.allowPrivate && isPrivateHost(target.hostname)) return true
  const standard = target.protocol === 'http:' ? 80 : 443
  const port = target.port === '' ? standard : Number(target.port)
  return portsOf(policy).includes(port) || (policy.allowPrivate && port === 80)
}

function guardedLookup({ resolve, isPrivate }: OutgoingNetwork): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      if (addresses.length === 0 || addresses.some(({ address }) => isPrivate(address)))
        return callback(new PrivateAddressError(hostname), [])
      const [first] = addresses
      if (options.all === true || first === undefined) return callback(null, addresses)
      return callback(null, first.address, first.family)
    })
  }
}

function isPrivateHost(hostname: string): boolean {
  const host = bare(hostname)
  if (isIP(host) !== 0) return isPrivateAddress(host)
  return /(^|\.)(localhost|local|internal)$/i.test(host) || !host.includes('.')
}

/** A host without the brackets of an address and without the trailing dot of a name. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}
