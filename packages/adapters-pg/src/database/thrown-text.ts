/** The text of a thrown value: a handler may throw anything, and reading its members may throw in turn. */
export const thrownText = (thrown: unknown): string =>
  attempt(() => (thrown instanceof Error ? `${thrown.message}` : String(thrown)))

/** The same with the name of an error before it. */
export const namedThrownText = (thrown: unknown): string =>
  attempt(() => (thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown)))

/** Where an error was thrown: the first line of its stack in code of the host; undefined where there is none. */
export function thrownAt(thrown: unknown): string | undefined {
  const frames = attempt(() => (thrown instanceof Error ? `${thrown.stack}`.replace(`${thrown.message}`, '') : ''))
  const own = frames
    .split('\n')
    .find((line) => /^ +at .+:\d+:\d+\)?$/.test(line) && !/node:|[\\/]node_modules[\\/]/.test(line))
  return own?.trim().replace(/^at (async )?/, '')
}

function attempt(read: () => string): string {
  try {
    return read()
  } catch {
    return 'something that cannot be read was thrown'
  }
}
