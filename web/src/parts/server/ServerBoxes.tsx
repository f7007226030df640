import { Checkbox, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useServers } from '../../data/servers.ts'
import { t } from './messages.ts'

interface Props {
  /** The ids of the servers. */
  readonly chosen: readonly string[]
  readonly disabled?: boolean
  readonly className?: string | undefined
  readonly onToggle: (id: string) => void
}

const MOST = 50

/** A check box for each server. Where there are many, a text finds those that are not shown; chosen ones are always shown. */
export function ServerBoxes({ chosen, disabled = false, className, onToggle }: Props) {
  const { servers = [] } = useServers()
  const [sought, setSought] = useState('')
  const fitting = servers.filter(({ name }) => name.toLowerCase().includes(sought.toLowerCase()))
  const shown = fitting.filter(({ id }, index) => index < MOST || chosen.includes(id))
  return (
    <>
      {servers.length > MOST && (
        <TextInput
          aria-label={t('findServer')}
          placeholder={t('findServer')}
          value={sought}
          onChange={({ currentTarget }) => setSought(currentTarget.value)}
        />
      )}
      <section className={className} aria-label={t('theServers')}>
        {shown.map(({ id, name }) => (
          <Checkbox
            key={id}
            label={name}
            disabled={disabled}
            checked={chosen.includes(id)}
            onChange={() => onToggle(id)}
          />
        ))}
        {fitting.length > shown.length && (
          <p className="muted sm">{t('moreServers', { count: fitting.length - shown.length })}</p>
        )}
      </section>
    </>
  )
}
