import { Menu } from '@base-ui/react/menu'

/** A button that opens a list of what can be added. */
export function AddMenu<T extends string>({
  label,
  choices,
  onAdd,
}: {
  readonly label: string
  /** What is added, by its words. */
  readonly choices: readonly (readonly [choice: T, words: string])[]
  readonly onAdd: (choice: T) => void
}) {
  if (choices.length === 0) return null
  return (
    <Menu.Root>
      <Menu.Trigger className="button">{label} ▾</Menu.Trigger>
      <Menu.Portal container={document.querySelector<HTMLElement>('main')}>
        <Menu.Positioner sideOffset={6} align="start" className="over">
          <Menu.Popup className="menu tall">
            {choices.map(([choice, words]) => (
              <Menu.Item key={choice} className="menu-item" onClick={() => onAdd(choice)}>
                {words}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
