const addresses = new WeakMap<Request, string>()

/** Notes the path of a request as its sender has it, where a server has taken a part away, as Express does below a mount. */
export function keepAddress(request: Request, address: unknown): Request {
  if (typeof address === 'string' && address.startsWith('/')) addresses.set(request, address.split('?')[0] ?? address)
  return request
}

/** The path of a request as its sender has it, as far as it is known. */
export const addressOf = (request: Request): string => addresses.get(request) ?? new URL(request.url).pathname
