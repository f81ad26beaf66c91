/** How the pages are coloured: as the system is, or as the person said. */
export const themes = ['system', 'light', 'dark'] as const

/** A theme. */
export type Theme = (typeof themes)[number]

const key = 'outlay-console-theme'

/** The theme that was chosen in this browser. */
export function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(key)
    return themes.find((one) => one === kept) ?? 'system'
  } catch {
    return 'system'
  }
}

/** Shows a theme. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

/** Shows a theme, and keeps it for the next visit. */
export function chooseTheme(theme: Theme): void {
  applyTheme(theme)
  try {
    localStorage.setItem(key, theme)
  } catch {
    // A browser that keeps nothing asks the system again.
  }
}
