import type { Route } from './route.ts'

/** A route with the parameters of a path. */
export interface Match {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** What a path means: a route, or the methods that it has instead, or nothing. */
export type Found = Match | { readonly allow: readonly string[] } | undefined

/** Makes the search for routes by method and path. HEAD is that of GET. */
export function createRouter(routes: readonly Route[]): (method: string, path: string) => Found {
  const known = routes.map((route) => {
    const names = [...route.path.matchAll(/:([a-zA-Z]+)/g)].flatMap(([, name]) => name ?? [])
    return { route, names, pattern: new RegExp(`^${route.path.replaceAll(/:[a-zA-Z]+/g, '([^/]+)')}/?$`) }
  })
  return (method, path) => {
    const wanted = method === 'HEAD' ? 'get' : method.toLowerCase()
    const fitting = known.filter(({ pattern }) => pattern.test(path))
    const found = fitting.find(({ route }) => route.method === wanted)
    if (found === undefined)
      return fitting.length === 0 ? undefined : { allow: fitting.map(({ route }) => route.method.toUpperCase()) }
    const values = found.pattern.exec(path)?.slice(1).map(decode) ?? []
    if (values.includes(undefined)) return undefined
    return { route: found.route, params: Object.fromEntries(found.names.map((name, at) => [name, values[at] ?? ''])) }
  }
}

/** The text of a segment; undefined for what is no text, or cannot be in the database. */
function decode(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment)
    return text.includes('\0') || text.length > 255 ? undefined : text
  } catch {
    return undefined
  }
}
