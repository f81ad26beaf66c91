import { Dialog } from '@base-ui/react/dialog'
import { type FormEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { useRefresh } from '../api/queries.ts'
import { useNotice } from './notices.tsx'
import { Said } from './states.tsx'

/** What an action asks, and what it does. */
export interface Action {
  /** Such as "Hold this transfer". */
  readonly title: string
  /** What happens then, in a sentence or two. */
  readonly effect: ReactNode
  /** The word on the button. */
  readonly verb: string
  readonly isDangerous?: boolean | undefined
  /** The note may be left out, as of an approval. */
  readonly isReasonOptional?: boolean | undefined
  /** False while something is missing that the fields ask for. */
  readonly isReady?: boolean | undefined
  /** True for several steps, between which it can be stopped. */
  readonly isStoppable?: boolean | undefined
  /** Does it, and says what has become of it. What can be stopped begins nothing more once the signal is aborted. */
  readonly run: (reason: string, signal: AbortSignal) => Promise<string>
}

/**
 * Asks for a confirmation and a reason, does it, and shows what the server said. It stays open with the refusal, so that nothing has to be
 * written twice.
 */
export function ActionDialog({
  action,
  onClose,
  children,
}: {
  readonly action: Action | undefined
  readonly onClose: () => void
  /** More fields. */
  readonly children?: ReactNode
}) {
  // What runs and can be stopped: closing stops it, and does not leave it to go on unseen.
  const running = useRef<AbortController>(undefined)
  // The last one stays visible while the dialog closes.
  const [shown, show] = useState(action)
  useEffect(() => {
    if (action !== undefined) show(action)
  }, [action])
  return (
    <Dialog.Root
      open={action !== undefined}
      onOpenChange={(isOpen) => {
        if (isOpen) return
        if (running.current === undefined) onClose()
        else running.current.abort()
      }}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          {shown === undefined ? null : (
            <ActionForm key={shown.title} action={action ?? shown} {...{ onClose, running }}>
              {children}
            </ActionForm>
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function ActionForm({
  action,
  onClose,
  running,
  children,
}: {
  readonly action: Action
  readonly onClose: () => void
  readonly running: RefObject<AbortController | undefined>
  readonly children?: ReactNode
}) {
  const { title, effect, verb, isDangerous = false, isReasonOptional = false, isReady = true } = action
  const { isStoppable = false, run } = action
  const [reason, setReason] = useState('')
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>()
  const isGone = useGone()
  const refresh = useRefresh()
  const notify = useNotice()
  const isMissing = !isReasonOptional && reason.trim() === ''
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (isRunning || isMissing || !isReady) return
    setRunning(true)
    setError(undefined)
    const controller = new AbortController()
    if (isStoppable) running.current = controller
    try {
      const done = await run(reason.trim(), controller.signal)
      notify(done)
      // Somebody may have closed it meanwhile, and opened another one.
      if (!isGone()) onClose()
    } catch (refused) {
      setError(refused)
    } finally {
      running.current = undefined
      setRunning(false)
      void refresh()
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Dialog.Title className="dialog-title">{title}</Dialog.Title>
      <Dialog.Description render={<div />} className="dialog-effect">
        {effect}
      </Dialog.Description>
      {children}
      <label className="field">
        <span>
          {isReasonOptional ? 'Note' : 'Reason'} <small className="muted">stands in the audit</small>
        </span>
        <textarea
          name="reason"
          rows={2}
          maxLength={1_000}
          required={!isReasonOptional}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      {error === undefined ? null : (
        <div className="refused" role="alert">
          <Said error={error} />
        </div>
      )}
      <div className="dialog-actions">
        <Dialog.Close className="button">{isRunning && isStoppable ? 'Stop' : 'Back'}</Dialog.Close>
        <button
          type="submit"
          className={`button ${isDangerous ? 'danger' : 'primary'}`}
          disabled={isRunning || isMissing || !isReady}
        >
          {isRunning ? 'Asking the server …' : verb}
        </button>
      </div>
    </form>
  )
}

/** Gives the function that says whether the component is not shown any more. */
function useGone(): () => boolean {
  const isGone = useRef(false)
  useEffect(() => {
    isGone.current = false
    return () => {
      isGone.current = true
    }
  }, [])
  return () => isGone.current
}
