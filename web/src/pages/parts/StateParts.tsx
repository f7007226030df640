import { ApiError, Unreachable } from '../../data/api.ts'
import { Breakable } from '../../parts/content/Breakable.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState, NeedsPermission } from '../../parts/states/ErrorState.tsx'
import { FormError } from '../../parts/states/FormError.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { t } from './messages.ts'
import { Part } from './Part.tsx'

const PROBLEM = new ApiError(
  409,
  JSON.stringify({
    detail: 'The server is not running',
    code: 'server_not_running',
    hint: 'Start it with POST /api/servers/github/start',
  }),
)

export function StateParts() {
  return (
    <>
      <Part title={t('empty')}>
        <EmptyState
          title="No calls yet"
          text="Connect an agent through the gateway and its calls appear here."
        >
          <Act look="main">Connect an agent</Act>
          <Act look="quiet">Run a tool yourself</Act>
        </EmptyState>
      </Part>
      <Part title={t('loading')}>
        <Skeleton rows={3} />
      </Part>
      <Part title={t('error')}>
        <ErrorState error={PROBLEM} onRetry={() => {}} />
        <p className="mono">
          <Breakable text="npx -y @modelcontextprotocol/server-postgres" />
        </p>
        <FormError error={new Unreachable()} />
      </Part>
      <Part title={t('permission')}>
        <NeedsPermission />
      </Part>
      <Part title={t('cause')}>
        <CauseStrip
          tone="err"
          sentence="Check that 127.0.0.1:5432 is running."
          evidence="connect ECONNREFUSED 127.0.0.1:5432"
        >
          <Act size="xs">Test</Act>
          <Act size="xs">Logs</Act>
        </CauseStrip>
        <CauseStrip
          tone="warn"
          sentence="The saved sign-in expired on 12 Nov."
          evidence="401 from mcp.figma.com"
        >
          <Act size="xs">Sign in again</Act>
        </CauseStrip>
        <CauseStrip tone="ok" sentence="postgres is back." evidence={null} />
      </Part>
    </>
  )
}
