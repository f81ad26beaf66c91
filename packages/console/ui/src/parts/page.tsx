import { type ReactNode, useEffect } from 'react'

/** The frame of a page: its name, which is also that of the window, what it is about, and what can be done. */
export function Page({
  title,
  lead,
  actions,
  children,
}: {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · Outlay`
  }, [title])
  return (
    <>
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {lead === undefined ? null : <p className="muted">{lead}</p>}
        </div>
        {actions === undefined ? null : <div className="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

/** A part of a page with a heading. */
export function Panel({
  title,
  actions,
  isFlush = false,
  children,
}: {
  readonly title: string
  readonly actions?: ReactNode
  /** What is inside reaches the edges, as a table does. */
  readonly isFlush?: boolean
  readonly children: ReactNode
}) {
  return (
    <section className={`panel${isFlush ? ' flush' : ''}`}>
      <header className="panel-head">
        <h2>{title}</h2>
        {actions === undefined ? null : <div className="actions">{actions}</div>}
      </header>
      <div className="panel-body">{children}</div>
    </section>
  )
}

/** Names and what they are, in two columns. */
export function Facts({ of }: { readonly of: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** An id with a button that copies it. */
export function Id({ value }: { readonly value: string }) {
  return (
    <span className="id">
      <code className="ellipsis">{value}</code>
      <button
        type="button"
        className="icon-button"
        aria-label={`Copy ${value}`}
        title="Copy"
        onClick={() => void navigator.clipboard?.writeText(value)}
      >
        <svg
          width="13"
          height="13"
          viewBox="0 0 16 16"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.4"
          aria-hidden="true"
        >
          <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
          <path d="M10.5 5.5V4A1.5 1.5 0 0 0 9 2.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.5h1.5" />
        </svg>
      </button>
    </span>
  )
}
