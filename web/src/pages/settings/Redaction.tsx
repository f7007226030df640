import { TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { useSession } from '../../data/session.ts'
import { useRedact } from '../../data/settings.ts'
import { Tag } from '../../parts/marks/Tag.tsx'
import { Entry } from './Entry.tsx'
import { t } from './messages.ts'
import css from './Settings.module.css'

/** What becomes of a text in logs and payloads. */
export function Redaction() {
  const { mayChange } = useSession()
  const [text, setText] = useState('')
  const [given] = useDebouncedValue(text, 300)
  const { mutate, data } = useRedact()
  useEffect(() => {
    if (given !== '') mutate(given)
  }, [given, mutate])
  const masked = given === '' ? undefined : data?.text
  const hidden = masked === undefined ? 0 : masked.split('***').length - 1
  return (
    <Entry name={t('redaction')} text={t('redactionText')}>
      <TextInput
        aria-label={t('redaction')}
        className={css.text}
        classNames={{ input: 'mono' }}
        placeholder={t('redactionSample')}
        autoComplete="off"
        disabled={!mayChange}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      {masked !== undefined && (
        <div className={css.masked}>
          <code className="mono">{masked}</code>
          <Tag tone={hidden > 0 ? 'ok' : 'idle'}>
            {hidden > 0 ? t('hidden', { count: hidden }) : t('noneHidden')}
          </Tag>
        </div>
      )}
    </Entry>
  )
}
