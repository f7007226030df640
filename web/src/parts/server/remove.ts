import { leave } from '../../data/server/removals.ts'
import type { Server } from '../../data/servers.ts'
import { showFailure, showUndo } from '../controls/toasts.tsx'
import { t } from './messages.ts'

/** Removes servers: out of sight at once, deleted after 10 s, and back if it is undone. */
export function removeWithUndo(servers: readonly Server[]): void {
  const { back, remove } = leave(servers)
  showUndo({
    title: t('removed', { count: servers.length, name: servers[0]?.name ?? '' }),
    text: t('deletedSoon'),
    onUndo: back,
    onOver: () => void remove().catch((error) => showFailure(error)),
  })
}
