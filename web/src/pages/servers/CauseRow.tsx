import { useLocation } from 'wouter'
import { useTestServer } from '../../data/server/server-changes.ts'
import type { Server } from '../../data/servers.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { type Cause, firstSentence, lacksItsPlace, missingVariable } from '../../parts/server/cause.ts'
import { canSignIn, SignIn } from '../../parts/server/SignIn.tsx'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import { t } from './messages.ts'

/** A failing row is open: what to do, the decisive line, and the buttons that help. */
export function CauseRow({ server, cause }: { readonly server: Server; readonly cause: Cause }) {
  const [, navigate] = useLocation()
  const test = useTestServer()
  const to = (query: string) => () => navigate(`/servers/${server.id}?${query}`)
  const missing = missingVariable(server)
  return (
    <CauseStrip tone={cause.tone} sentence={firstSentence(cause.sentence)} evidence={cause.evidence}>
      {server.type === 'http' ? (
        <>
          {canSignIn(server) && <SignIn server={server} size="xs" />}
          <Act
            size="xs"
            changes
            busy={test.isPending}
            onClick={() => test.mutate(server.id, { onError: (error) => showFailure(error) })}
          >
            {t('testShort')}
          </Act>
          <Act size="xs" onClick={to('tab=config')}>
            {t('editUrl')}
          </Act>
        </>
      ) : (
        <>
          {cause.tone === 'err' && (
            <>
              <Act size="xs" onClick={to('check=1')}>
                {t('testShort')}
              </Act>
              {lacksItsPlace(server) ? (
                <Act size="xs" onClick={to('tab=config&field=isolation')}>
                  {t('changeIsolation')}
                </Act>
              ) : (
                <Act size="xs" onClick={to(`tab=config&field=env${missing === null ? '' : `.${missing}`}`)}>
                  {missing === null ? t('editEnv') : t('setVariable', { name: missing })}
                </Act>
              )}
            </>
          )}
          <Act size="xs" onClick={to('tab=logs')}>
            {t('logs')}
          </Act>
        </>
      )}
    </CauseStrip>
  )
}
