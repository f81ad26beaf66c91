import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Refusal } from '../api/client.ts'

/** What is shown in place of something that is not there. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  )
}

/** Something is being read. */
export function Loading({ what = 'Reading' }: { readonly what?: string }) {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{what} …</span>
      {[92, 78, 85, 64].map((width) => (
        <span key={width} className={`bone w${width}`} aria-hidden="true" />
      ))}
      <span className="late muted">This takes some seconds where very many transfers wait.</span>
    </div>
  )
}

/** A refusal: what the server said, and what it says to do next. */
export function Said({ error }: { readonly error: unknown }) {
  if (!(error instanceof Refusal))
    return <p className="said">{error instanceof Error ? error.message : 'It failed.'}</p>
  const { detail, next, requestId, errors } = error.problem
  const others = errors.filter((one) => one.detail !== detail || errors.length > 1)
  return (
    <div className="said">
      <p>{detail}</p>
      {others.length === 0 ? null : (
        <ul>
          {others.map((one) => (
            <li key={`${JSON.stringify(one.source)} ${one.detail}`}>
              {sourceOf(one.source) === '' ? '' : <code>{sourceOf(one.source)}</code>} {one.detail}
            </li>
          ))}
        </ul>
      )}
      <p>{next}</p>
      <p className="muted">
        Request <code>{requestId}</code>
      </p>
    </div>
  )
}

function sourceOf(source: unknown): string {
  const { pointer, parameter } = (source ?? {}) as { readonly pointer?: string; readonly parameter?: string }
  return parameter ?? pointer ?? ''
}

const titles: Readonly<Record<number, string>> = {
  401: 'Nobody is logged in',
  403: 'You may not see this',
  404: 'There is nothing here',
  429: 'Too many requests',
  503: 'Not available now',
}

/** A reading that failed: denied, not found, or without an answer. */
export function Failed({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const status = error instanceof Refusal ? error.problem.status : 0
  const isFinal = status === 401 || status === 403 || status === 404
  return (
    <div className={`state ${isFinal ? 'denied' : 'failed'}`} role="alert">
      <h2>{titles[status] ?? 'It could not be read'}</h2>
      <Said error={error} />
      {onRetry === undefined || status === 403 ? null : (
        <button type="button" className="button" onClick={onRetry}>
          Read again
        </button>
      )}
    </div>
  )
}

/** Shows what was read, or that it is being read, or why it could not be. What was read before stays while it is read again. */
export function Read<T>({
  of,
  what,
  children,
}: {
  readonly of: UseQueryResult<T>
  readonly what?: string
  readonly children: (data: T) => ReactNode
}) {
  if (of.data !== undefined)
    return (
      <>
        {of.error === null ? null : (
          <p className="stale" role="status">
            This is as it was: it could not be read again. {of.error.message}
          </p>
        )}
        {children(of.data)}
      </>
    )
  if (of.error !== null) return <Failed error={of.error} onRetry={() => void of.refetch()} />
  return <Loading {...(what === undefined ? {} : { what })} />
}
