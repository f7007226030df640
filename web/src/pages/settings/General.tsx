import { Switch, useMantineColorScheme } from '@mantine/core'
import { useState } from 'react'
import { lettersAreOff, switchLetters } from '../../keyboard/keys.ts'
import { Seg } from '../../parts/controls/Seg.tsx'
import { Entry } from './Entry.tsx'
import { t } from './messages.ts'

const THEMES = (['auto', 'light', 'dark'] as const).map((value) => ({ value, label: t(value) }))

/** What belongs to this browser, so it needs no token. */
export function General() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const [isOff, setOff] = useState(lettersAreOff)
  return (
    <>
      <Entry name={t('theme')} text={t('themeText')}>
        <Seg label={t('theme')} value={colorScheme} options={THEMES} onChange={setColorScheme} />
      </Entry>
      <Entry name={t('letters')} text={t('lettersText')}>
        <Switch
          aria-label={t('letters')}
          checked={!isOff}
          onChange={() => {
            switchLetters(!isOff)
            setOff(!isOff)
          }}
        />
      </Entry>
    </>
  )
}
