import { reveal } from '../../data/server/server-changes.ts'
import type { Server } from '../../data/servers.ts'
import { IconAct } from '../../parts/controls/Act.tsx'
import { t } from './overview/messages.ts'
import css from './overview/Overview.module.css'
import { useRevealed } from './use-revealed.ts'

interface Props {
  readonly server: Server
  readonly field: 'env' | 'headers'
  readonly name: string
}

/** A value that is shown as `***`, and in full for 30 s after a click. */
export function Masked({ server, field, name }: Props) {
  const { value, show, hide } = useRevealed(() => reveal(server, field, name))
  return (
    <span className={`mono ${css.secret}`}>
      <span>
        {name}={value ?? '***'}
      </span>
      <IconAct
        size="xs"
        icon="eye"
        label={value === undefined ? t('reveal', { name }) : t('hide', { name })}
        changes
        onClick={value === undefined ? show : hide}
      />
    </span>
  )
}
