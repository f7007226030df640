import { useLocation } from 'wouter'
import type { RepairAction } from '../../data/api.ts'
import type { Server } from '../../data/servers.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { isHeld } from '../../parts/marks/status.ts'
import { Repair } from '../../parts/repair/Repair.tsx'
import { actionOf } from '../../parts/repair/repairs.ts'
import { type Cause, firstSentence } from '../../parts/server/cause.ts'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import { t } from './messages.ts'

/** A failing row is open: what to do, the decisive line, and the buttons that help. */
export function CauseRow({ server, cause }: { readonly server: Server; readonly cause: Cause }) {
  const [, navigate] = useLocation()
  const action = actionOf(server)
  const others = isHeld(server)
    ? []
    : (server.type === 'stdio' ? LOCAL : REMOTE).filter(({ kind }) => kind !== action.kind)
  return (
    <CauseStrip tone={cause.tone} sentence={firstSentence(cause.sentence)} evidence={cause.evidence}>
      <Repair action={action} server={server} size="xs" />
      {server.type === 'stdio' && cause.tone === 'err' && (
        <Act size="xs" onClick={() => navigate(`/servers/${server.id}?check=1`)}>
          {t('testShort')}
        </Act>
      )}
      {others.map((other) => (
        <Repair key={other.kind} action={other} server={server} size="xs" />
      ))}
    </CauseStrip>
  )
}

const LOCAL: readonly RepairAction[] = [{ kind: 'see_log' }]
const REMOTE: readonly RepairAction[] = [{ kind: 'check' }, { kind: 'edit_url' }]
