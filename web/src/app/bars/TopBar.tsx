import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useCallback } from 'react'
import { IconAct } from '../../parts/controls/Act.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { t } from '../messages.ts'
import { Bell } from './Bell.tsx'
import { LivePill } from './LivePill.tsx'
import css from './TopBar.module.css'

interface Props {
  readonly onPalette: () => void
  readonly onHelp: () => void
}

export function TopBar({ onPalette, onHelp }: Props) {
  const toggle = useThemeToggle()
  const scheme = useComputedColorScheme('light')
  return (
    <header className={css.top}>
      <button type="button" className={css.search} onClick={onPalette}>
        <Icon name="search" />
        <span className="cut">{t('search')}</span>
        <span className={css.hint}>
          <Keys of="ctrl+k" />
        </span>
      </button>
      <span className="right" />
      <LivePill />
      <Bell />
      <span className={css.wide}>
        <IconAct icon={scheme === 'dark' ? 'sun' : 'moon'} label={t('theme')} onClick={toggle} />
        <IconAct icon="help" label={t('keys')} onClick={onHelp} />
      </span>
    </header>
  )
}

/** Light and dark. The choice is kept; until then the system decides. */
export function useThemeToggle(): () => void {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  return useCallback(() => setColorScheme(scheme === 'dark' ? 'light' : 'dark'), [scheme, setColorScheme])
}
