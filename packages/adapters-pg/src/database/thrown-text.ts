/** The text of a thrown value: a handler may throw anything, and reading its members may throw in turn. */
export const thrownText = (thrown: unknown): string =>
  attempt(() => (thrown instanceof Error ? `${thrown.message}` : String(thrown)))

/** The same with the name of an error before it. */
export const namedThrownText = (thrown: unknown): string =>
  attempt(() => (thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown)))

function attempt(read: () => string): string {
  try {
    return read()
  } catch {
    return 'something that cannot be read was thrown'
  }
}
