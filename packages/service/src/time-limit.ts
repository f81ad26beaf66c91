/**
 * Calls code of third parties, and waits at most `limitMs` for it. At the limit, the signal fires and the call is abandoned, even
 * if that code ignores the signal: its late result is dropped.
 * @throws DOMException `TimeoutError` at the limit.
 */
export async function callWithin<T>(
  limitMs: number,
  call: (options: { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const expired = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new DOMException(`No answer within ${limitMs} milliseconds.`, 'TimeoutError')
    late.abort(error)
    expired.reject(error)
  }, limitMs)
  try {
    return await Promise.race([call({ signal: late.signal }), expired.promise])
  } finally {
    clearTimeout(timer)
  }
}
