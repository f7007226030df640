import { Button } from '@mantine/core'
import { useLocation } from 'wouter'
import type { RepairAction, StdioServer } from '../../data/api.ts'
import { useJobs } from '../../data/jobs.ts'
import { usePullImage } from '../../data/server/isolation.ts'
import { useTestServer } from '../../data/server/server-changes.ts'
import { type Server, useServerAction } from '../../data/servers.ts'
import { Act } from '../controls/Act.tsx'
import { showDone, showFailure } from '../controls/toasts.tsx'
import { SignIn } from '../server/SignIn.tsx'
import { t } from './messages.ts'
import { openOutgoingDialog } from './outgoing-dialog.ts'
import { labelOf, routeOf } from './repairs.ts'
import { openValueDialog } from './value-dialog.ts'

interface Look {
  readonly size?: 'xs' | 'sm'
  readonly look?: 'plain' | 'main' | 'quiet'
}

interface Props extends Look {
  readonly action: RepairAction
  /** The server that has the error, if it is about one. */
  readonly server: Server | undefined
  /** Something else came into view: a menu or a list around the button may close. */
  readonly onOpen?: () => void
}

/** The one button of an action: it opens where the repair is made, or makes it. */
export function Repair({ action, server, onOpen, ...look }: Props) {
  const [, navigate] = useLocation()
  const route = routeOf(action, server?.id ?? '')
  if (route !== undefined)
    return (
      <Act
        {...look}
        onClick={() => {
          navigate(route)
          onOpen?.()
        }}
      >
        {labelOf(action)}
      </Act>
    )
  switch (action.kind) {
    case 'set_secret':
    case 'set_variable':
      return (
        <Act
          {...look}
          changes
          onClick={() => {
            onOpen?.()
            openValueDialog({ action, server })
          }}
        >
          {labelOf(action)}
        </Act>
      )
    case 'allow_outgoing':
      return server ? (
        <Act
          {...look}
          changes
          onClick={() => {
            openOutgoingDialog(server)
            onOpen?.()
          }}
        >
          {labelOf(action)}
        </Act>
      ) : null
    case 'install_runtime':
      return (
        <Button
          component="a"
          variant={look.look === 'main' ? 'filled' : 'default'}
          color="ink"
          size={look.size ?? 'sm'}
          href={action.url}
          target="_blank"
          rel="noreferrer"
        >
          {labelOf(action)}
        </Button>
      )
    case 'login':
      return server?.type === 'http' ? <SignIn server={server} {...look} /> : null
    case 'check':
      return server ? <Check action={action} server={server} {...look} /> : null
    case 'start':
    case 'start_docker':
      return server ? <Start label={labelOf(action)} server={server} {...look} /> : null
    case 'pull_image':
      return server?.type === 'stdio' ? <Pull image={action.image} server={server} {...look} /> : null
    default:
      return null
  }
}

function Start({ label, server, ...look }: Look & { readonly label: string; readonly server: Server }) {
  const action = useServerAction()
  const start = () =>
    action.mutate(
      { id: server.id, action: 'restart' },
      {
        onSuccess: () => showDone(t('started', { name: server.name })),
        onError: (error) => showFailure(error),
      },
    )
  return (
    <Act {...look} icon="restart" changes busy={action.isPending} onClick={start}>
      {label}
    </Act>
  )
}

function Check({
  action,
  server,
  ...look
}: Look & { readonly action: RepairAction; readonly server: Server }) {
  const test = useTestServer()
  const { id, name } = server
  const check = () =>
    test.mutate(id, {
      onSuccess: ({ error }) =>
        error ? showFailure(new Error(error.message), t('fails', { name })) : showDone(t('works', { name })),
      onError: (error) => showFailure(error),
    })
  return (
    <Act {...look} changes busy={test.isPending} onClick={check}>
      {labelOf(action)}
    </Act>
  )
}

/** Downloads the image as a job; then the server can be started. */
function Pull({ image, server, ...look }: Look & { readonly image: string; readonly server: StdioServer }) {
  const pull = usePullImage()
  const { data: jobs = [] } = useJobs()
  const job = jobs.find(({ kind, subject }) => kind === 'image_pull' && subject === image)
  const isPulling = job?.status === 'running' || job?.status === 'queued'
  const problem = job?.status === 'failed' ? job.error?.message : undefined
  return (
    <>
      {problem !== undefined && <span className="mono err">{problem}</span>}
      <Act
        {...look}
        icon="download"
        changes
        busy={pull.isPending || isPulling}
        onClick={() => pull.mutate(image, { onError: (error) => showFailure(error) })}
      >
        {job?.status === 'done' ? t('pull_again') : t('pull_image')}
      </Act>
      {job?.status === 'done' && <Start label={t('start_now')} server={server} {...look} />}
    </>
  )
}
