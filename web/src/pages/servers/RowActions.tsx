import { useTestServer } from '../../data/server/server-changes.ts'
import { type Server, type ServerAction, useServerAction } from '../../data/servers.ts'
import { IconAct } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { ServerMenu } from '../../parts/server/ServerMenu.tsx'
import { t } from './messages.ts'
import css from './ServerTable.module.css'

const UP = ['running', 'starting', 'stopping']

/** Always visible: what is done most, and the menu with the rest. */
export function RowActions({ server }: { readonly server: Server }) {
  const action = useServerAction()
  const test = useTestServer()
  const { id, name } = server
  const run = (what: ServerAction) => () =>
    action.mutate({ id, action: what }, { onError: (error) => showFailure(error) })
  const check = () =>
    test.mutate(id, {
      onSuccess: ({ error, tool_count }) =>
        error
          ? showFailure(new Error(error.message), t('testFailed', { name }))
          : showDone(t('tested', { name, count: tool_count ?? 0 })),
      onError: (error) => showFailure(error),
    })
  return (
    <span className={css.actions}>
      {server.type === 'http' && (
        <IconAct
          size="xs"
          icon="scan"
          label={t('test', { name })}
          changes
          busy={test.isPending}
          onClick={check}
        />
      )}
      {server.type === 'stdio' &&
        (UP.includes(server.status) ? (
          <IconAct size="xs" icon="stop" label={t('stop', { name })} changes onClick={run('stop')} />
        ) : (
          <IconAct size="xs" icon="play" label={t('start', { name })} changes onClick={run('start')} />
        ))}
      {server.type === 'stdio' && (
        <IconAct size="xs" icon="restart" label={t('restart', { name })} changes onClick={run('restart')} />
      )}
      <ServerMenu server={server} />
    </span>
  )
}
