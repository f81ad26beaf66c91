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

/** Leaves a call as soon as its signal fires, even if it ignores the signal: a stop does not wait for code of third parties. */
export async function untilAborted<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const leave = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  // A call that throws at once is a rejection too, so that the race handles both.
  const called = (async () => await call(signal))()
  try {
    return await Promise.race([called, aborted.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
