import type { Server } from '../../../data/servers.ts'
import { Repair } from '../../../parts/repair/Repair.tsx'
import { actionOf } from '../../../parts/repair/repairs.ts'
import { causeOf } from '../../../parts/server/cause.ts'
import { CauseStrip } from '../../../parts/states/CauseStrip.tsx'
import { t } from './messages.ts'

/** How the start after a save went, beside the button that asked for it. */
export function StartOutcome({ server }: { readonly server: Server }) {
  const cause = causeOf(server)
  const { name, status, tool_count } = server
  if (cause && status !== 'starting')
    return (
      <div role="alert">
        <CauseStrip
          tone={cause.tone}
          sentence={t('notStarted', { name, message: server.last_error?.message ?? cause.sentence })}
          evidence={cause.evidence}
          advice={server.last_error?.hint ?? undefined}
        >
          <Repair action={actionOf(server)} server={server} size="xs" />
        </CauseStrip>
      </div>
    )
  if (status === 'stopped') return null
  const isUp = status === 'running' || status === 'idle'
  return (
    <p role="status" className={isUp ? 'ok' : 'muted'}>
      {isUp ? t('started', { name, count: tool_count ?? 0 }) : t('starting', { name })}
    </p>
  )
}
