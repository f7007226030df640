import type { RepairAction } from '../../data/api.ts'
import type { Server } from '../../data/servers.ts'
import { causeOf } from '../server/cause.ts'
import { CauseStrip } from '../states/CauseStrip.tsx'
import { t } from './messages.ts'
import { Repair } from './Repair.tsx'
import { actionOf, labelOf } from './repairs.ts'

interface Props {
  readonly server: Server
  /** What was just done. It is not offered again. */
  readonly done?: RepairAction
  readonly onOpen?: () => void
}

/** How the start after a save went, beside the button that asked for it. */
export function StartOutcome({ server, done, onOpen }: Props) {
  const cause = causeOf(server)
  const { name, status, tool_count } = server
  if (cause && status !== 'starting') {
    const action = actionOf(server)
    return (
      <div role="alert">
        <CauseStrip
          tone={cause.tone}
          sentence={t('notStarted', { name, message: server.last_error?.message ?? cause.sentence })}
          evidence={cause.evidence}
          advice={server.last_error?.hint ?? undefined}
        >
          {(!done || labelOf(action) !== labelOf(done)) && (
            <Repair action={action} server={server} size="xs" {...(onOpen && { onOpen })} />
          )}
        </CauseStrip>
      </div>
    )
  }
  if (status === 'stopped') return null
  const isUp = status === 'running' || status === 'idle'
  return (
    <p role="status" className={isUp ? 'ok' : 'muted'}>
      {isUp ? t('runs', { name, count: tool_count ?? 0 }) : t('starting', { name })}
    </p>
  )
}
