/** Name of the gateway of an engine that has one. */
export const defaultGateway = 'default'

/** An account at one gateway. The same id at another gateway is another account there. */
export interface GatewayAccount {
  readonly gateway: string
  readonly accountId: string
}

/**
 * An account at one gateway as one text, which is what a backend calls an account wherever it keeps what is true of the two together: the id
 * itself at the gateway `default`, and elsewhere the gateway's name, a space and the id. Neither has a space.
 */
export const atGateway = ({ gateway, accountId }: GatewayAccount): string =>
  gateway === defaultGateway ? accountId : `${gateway} ${accountId}`

/** The account and the gateway in a text of {@link atGateway}. */
export function readGatewayAccount(account: string): GatewayAccount {
  const space = account.indexOf(' ')
  if (space === -1) return { gateway: defaultGateway, accountId: account }
  return { gateway: account.slice(0, space), accountId: account.slice(space + 1) }
}
