import { Component, type ReactNode } from 'react'

interface Caught {
  readonly error?: Error
}

/** Shows what to do where a page fails, in place of nothing. React has no other way than a class. */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, Caught> {
  override state: Caught = {}

  static getDerivedStateFromError(error: Error): Caught {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <div className="state" role="alert">
        <h2>This page has failed</h2>
        <p>Nothing was done by that. Load it again; if it fails again, report this to whoever runs the console:</p>
        <pre>{`${error.name}: ${error.message}`}</pre>
        <button type="button" className="button" onClick={() => location.reload()}>
          Load again
        </button>
      </div>
    )
  }
}
