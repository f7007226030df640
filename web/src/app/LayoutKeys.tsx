import { useLocation } from 'wouter'
import { useKeys } from '../keyboard/keys.ts'
import { useThemeToggle } from './bars/TopBar.tsx'
import { t } from './messages.ts'
import { PAGES } from './pages.ts'

interface Props {
  readonly onPalette: () => void
  readonly onHelp: () => void
}

/** The keys that work on every page. */
export function LayoutKeys({ onPalette, onHelp }: Props) {
  const [, navigate] = useLocation()
  const toggle = useThemeToggle()
  useKeys(
    t('goTo'),
    Object.fromEntries(
      PAGES.map(({ path, title, key }) => [`g ${key}`, { does: title, run: () => navigate(path) }]),
    ),
  )
  useKeys(t('everywhere'), {
    'ctrl+k': { does: t('palette'), run: onPalette },
    '/': { does: t('filter'), run: () => focusFilter() || onPalette() },
    '?': { does: t('keys'), run: onHelp },
    'shift+d': { does: t('theme'), run: toggle },
  })
  return null
}

/** The field of the page that is marked with `data-filter`. */
function focusFilter(): boolean {
  const field = document.querySelector<HTMLInputElement>('main [data-filter]')
  field?.focus()
  field?.select()
  return field !== null
}
