import { useEffect, useRef } from 'react'
import type { Schemas } from '../../data/api.ts'
import { progressOf, useTryAll } from '../../data/jobs.ts'
import { queryClient } from '../../data/query-client.ts'
import type { Server } from '../../data/servers.ts'
import { Act } from '../controls/Act.tsx'
import { showDone, showFailure } from '../controls/toasts.tsx'
import { isUntried } from '../marks/status.ts'
import { t } from './messages.ts'

/** Starts every server once, a few at a time. It is offered while one of them was not tried. */
export function TryAll({ servers }: { readonly servers: readonly Server[] }) {
  const { start, job, isTrying } = useTryAll()
  /** The job that was seen while it ran. */
  const followed = useRef<string>(undefined)
  useEffect(() => {
    if (job?.finished_at === null) followed.current = job.id
    else if (job && followed.current === job.id) {
      followed.current = undefined
      void queryClient.invalidateQueries({ queryKey: ['servers'] })
      if (job.error) showFailure(new Error(job.error.message))
      else showResult(job.result as Schemas['TryReport'])
    }
  }, [job])
  if (!isTrying && !servers.some(isUntried)) return null
  if (isTrying && job) return <span className="muted sm">{t('trying', { ...progressOf(job) })}</span>
  return (
    <Act
      icon="play"
      changes
      busy={isTrying}
      onClick={() => start.mutate(undefined, { onError: (error) => showFailure(error) })}
    >
      {t('tryAll')}
    </Act>
  )
}

function showResult({ works, failed, total }: Schemas['TryReport']): void {
  if (failed > 0) showFailure(new Error(t('triedFailed', { count: failed })), t('tried', { works, total }))
  else showDone(t('tried', { works, total }))
}
