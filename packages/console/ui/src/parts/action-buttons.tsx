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
  const [chosen, choose] = useState<string>()
  const offer = offers.find(({ label }) => label === chosen)
  return (
    <>
      {offers.map(({ label }) => (
        <button
          key={label}
          type="button"
          className="button"
          {...(about === '' ? {} : { 'aria-label': `${label} ${about}` })}
          onClick={() => choose(label)}
        >
          {label}
        </button>
      ))}
      <ActionDialog action={offer} onClose={() => choose(undefined)}>
        {offer?.fields}
      </ActionDialog>
    </>
  )
}
