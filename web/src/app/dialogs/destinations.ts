import { useMemo } from 'react'
import { useLocation } from 'wouter'
import { refreshAgents } from '../../data/agent-files.ts'
import { useFoundAgents } from '../../data/agents.ts'
import type { Agent } from '../../data/api.ts'
import { useSession } from '../../data/session.ts'
import { nameOf, SETTINGS } from '../../pages/settings/sections.ts'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { openTokenDialog } from '../../parts/controls/token-dialog.ts'
import type { IconName } from '../../parts/marks/icons.tsx'
import { useThemeToggle } from '../bars/TopBar.tsx'
import { t } from '../messages.ts'
import { PAGES } from '../pages.ts'
import type { Command } from './commands.ts'

/** A view of a page that has an address of its own. */
const VIEWS: readonly (readonly [label: Parameters<typeof t>[0], path: string, icon: IconName])[] = [
  ['files', '/agents?view=files', 'agents'],
  ['installed', '/packages?tab=installed', 'packages'],
  ['updates', '/packages?tab=updates', 'packages'],
  ['firstRun', '/welcome', 'scan'],
]
/** What is done on the page that opens. */
const ACTIONS: readonly (readonly [label: Parameters<typeof t>[0], path: string, icon: IconName])[] = [
  ['addServer', '/servers?add=1', 'plus'],
  ['addAgent', '/agents?add=1', 'plus'],
  ['findPackage', '/packages', 'packages'],
  ['newKey', '/settings?section=gateway', 'plus'],
  ['exportAll', '/settings?section=export', 'download'],
  ['importFile', '/settings?section=export', 'download'],
]

const NONE: readonly Agent[] = []

/** Every page, view, agent, section and setting, and what can be done besides starting and stopping servers. */
export function useDestinations(onHelp: () => void): readonly Command[] {
  const [, navigate] = useLocation()
  const { data: agents = NONE } = useFoundAgents()
  const { mayChange } = useSession()
  const toggle = useThemeToggle()
  return useMemo(() => {
    const to = (path: string) => () => navigate(path)
    const go = (id: string, label: string, icon: IconName, path: string, hint?: string): Command => ({
      ...{ id, group: 'go', label, icon, run: to(path) },
      ...(hint !== undefined && { hint }),
    })
    const run = (label: string, icon: IconName, does: () => void, keys?: string): Command => ({
      ...{ id: `do ${label}`, group: 'run', label, icon, run: does },
      ...(keys !== undefined && { keys }),
    })
    const scan = () => void refreshAgents().then(() => showDone(t('scanned')), showFailure)
    return [
      ...(mayChange
        ? ACTIONS.map(([label, path, icon]) => run(t(label), icon, to(path)))
        : [run(t('paste'), 'lock', openTokenDialog)]),
      run(t('scan'), 'scan', scan),
      run(t('theme'), 'moon', toggle, 'shift+d'),
      run(t('showKeys'), 'help', onHelp, '?'),
      ...PAGES.map(({ path, title, icon, key }) => ({ ...go(path, title, icon, path), keys: `g ${key}` })),
      ...VIEWS.map(([label, path, icon]) => go(path, t(label), icon, path)),
      ...agents.map(({ agent_type, name }) =>
        go(`agent ${agent_type}`, name, 'agents', `/agents/${agent_type}`, t('agentKind')),
      ),
      ...Object.entries(SETTINGS).flatMap(([section, all]) =>
        all.map(([key]) =>
          go(`setting ${key}`, nameOf(key), 'settings', `/settings?section=${section}`, t('settingKind')),
        ),
      ),
    ]
  }, [agents, mayChange, navigate, onHelp, toggle])
}
