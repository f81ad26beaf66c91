import { type ReactNode, useState } from 'react'
import { type Action, ActionDialog } from './action-dialog.tsx'

/** An action with the word on its button. */
export interface Offer extends Action {
  readonly label: string
  /** More fields of its dialog. */
  readonly fields?: ReactNode
}

/** Buttons of actions, each of which asks before it does something. */
export function ActionButtons({ offers, about = '' }: { readonly offers: readonly Offer[]; readonly about?: string }) {
  const [chosen, choose] = useState<Offer>()
  const now = offers.find(({ label }) => label === chosen?.label)
  // As it was when somebody chose it: the page goes on reading. Fields change while they are filled in.
  const offer = now?.fields === undefined ? chosen : now
  return (
    <>
      {offers.map((one) => (
        <button
          key={one.label}
          type="button"
          className="button"
          {...(about === '' ? {} : { 'aria-label': `${one.label} ${about}` })}
          onClick={() => choose(one)}
        >
          {one.label}
        </button>
      ))}
      <ActionDialog action={chosen && offer} onClose={() => choose(undefined)}>
        {offer?.fields}
      </ActionDialog>
    </>
  )
}
