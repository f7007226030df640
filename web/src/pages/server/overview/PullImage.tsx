import type { StdioServer } from '../../../data/api.ts'
import { useJobs } from '../../../data/jobs.ts'
import { usePullImage } from '../../../data/server/isolation.ts'
import { useServerAction } from '../../../data/servers.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { showFailure } from '../../../parts/controls/toasts.tsx'
import { t } from './messages.ts'
import css from './Overview.module.css'

/** Downloads the image that is missing, as a job; then the server can be started. */
export function PullImage({ server }: { readonly server: StdioServer }) {
  const pull = usePullImage()
  const start = useServerAction()
  const { data: jobs = [] } = useJobs()
  const image = imageOf(server)
  if (server.last_error?.code !== 'image_not_found' || image === undefined) return null
  const job = jobs.find(({ kind, subject }) => kind === 'image_pull' && subject === image)
  const isPulling = job?.status === 'running' || job?.status === 'queued'
  const problem = job?.status === 'failed' ? job.error?.message : undefined
  const onError = (error: unknown) => showFailure(error)
  return (
    <>
      <dt>{t('image')}</dt>
      <dd>
        <span className={`${css.code} ${problem === undefined ? '' : 'err'}`}>{problem ?? image}</span>
        <Act
          icon="download"
          changes
          busy={pull.isPending || isPulling}
          onClick={() => pull.mutate(image, { onError })}
        >
          {job?.status === 'done' ? t('pullAgain') : t('pull')}
        </Act>
        {job?.status === 'done' && (
          <Act
            look="main"
            icon="play"
            changes
            onClick={() => start.mutate({ id: server.id, action: 'start' }, { onError })}
          >
            {t('startNow')}
          </Act>
        )}
      </dd>
    </>
  )
}

/** Its own, or the one that its command names, which the error repeats. */
const imageOf = ({ isolation_options, last_error }: StdioServer): string | undefined =>
  isolation_options.image ?? /\bno image ([\w./:@-]*[\w-])/.exec(last_error?.message ?? '')?.[1]
