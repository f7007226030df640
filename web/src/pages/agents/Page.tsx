import { useMediaQuery } from '@mantine/hooks'
import { useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { type FileAction, refreshAgents } from '../../data/agent-files.ts'
import { undoStep } from '../../data/browser/undo-steps.ts'
import type { Server } from '../../data/servers.ts'
import { useKeys } from '../../keyboard/keys.ts'
import { FileChangeDialog } from '../../parts/content/FileChange.tsx'
import { PageHead } from '../../parts/content/PageHead.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { Seg } from '../../parts/controls/Seg.tsx'
import { showDone } from '../../parts/controls/toasts.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { flag, list, oneOf, searchState, text, useSearchState } from '../../url/search-state.ts'
import css from './Agents.module.css'
import { ApplyDialog } from './ApplyDialog.tsx'
import { largest } from './columns.ts'
import { AddAgentDialog, PresetDialog } from './Dialogs.tsx'
import { DiffersDialog } from './DiffersDialog.tsx'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'
import { Legend } from './Peg.tsx'
import { PegGrid } from './PegGrid.tsx'
import { PhoneList } from './PhoneList.tsx'
import { StageBar } from './StageBar.tsx'
import { countOf } from './staged.ts'
import { SHOWN, Toolbar } from './Toolbar.tsx'
import { ToolsDrawer } from './ToolsDrawer.tsx'
import { type Grid, useGrid, useToggle } from './use-grid.ts'
import { WriteDialog } from './WriteDialog.tsx'

const VIEWS = ['agents', 'files'] as const
const MOST_COLUMNS = 8
const search = searchState({
  view: oneOf(VIEWS, 'agents'),
  q: text(),
  show: oneOf(SHOWN, 'all'),
  agents: list(),
  agent: text(),
  add: flag(),
})

type Open =
  | { readonly kind: 'write' }
  | { readonly kind: 'differs' | 'tools'; readonly server: Server; readonly column: Column }
  | { readonly kind: 'preset'; readonly column: Column }
  | { readonly kind: 'apply'; readonly column: Column; readonly preset: string }
  | { readonly kind: 'file'; readonly title: string; readonly action: FileAction }

/** Which server is on in which agent. Changes of files are staged, then written together. */
export function Page() {
  const [{ view, q, show, agents: chosen, agent, add }, setSearch] = useSearchState(search)
  const [open, setOpen] = useState<Open>()
  const grid = useGrid(view)
  const toggle = useToggle(grid)
  const isPhone = useMediaQuery('(max-width: 700px)') ?? false
  useKeys(t('title'), {
    'ctrl+z': { does: t('undo'), run: () => void (undoStep() || showDone(t('nothingToUndo'))) },
  })
  const names = (chosen.length > 0 ? chosen : largest(grid.columns, MOST_COLUMNS)) as string[]
  const shownTypes = names.join()
  const columns = useMemo(
    () => grid.columns.filter((column) => shownTypes.split(',').includes(typeOf(column))),
    [grid.columns, shownTypes],
  )
  const differing = useMemo(() => differingIn(grid), [grid])
  const isUnwritten = (server: Server) => [...grid.staged.values()].some(({ cells }) => cells.has(server.id))
  const servers = grid.servers.filter(
    (server) =>
      server.name.toLowerCase().includes(q.toLowerCase()) &&
      (show === 'all' || (show === 'differs' ? differing.has(server) : isUnwritten(server))),
  )
  const onDiffers = (server: Server, column: Column) => setOpen({ kind: 'differs', server, column })
  const onTools = (server: Server, column: Column) => setOpen({ kind: 'tools', server, column })
  const shared = { grid, servers, toggle, onDiffers, onTools }
  const isEmpty = !grid.isPending && (grid.columns.length === 0 || grid.servers.length === 0)
  return (
    <div className={css.whole}>
      <div className={`page ${css.page}`}>
        <PageHead
          title={t('title')}
          count={
            grid.isPending
              ? undefined
              : t('size', { agents: grid.columns.length, count: grid.servers.length })
          }
        >
          <span className="wide-only">
            <Seg
              label={t('view')}
              value={view}
              options={[
                { value: 'agents', label: t('viewAgents') },
                { value: 'files', label: t('viewFiles') },
              ]}
              onChange={(next) => setSearch({ view: next })}
            />
          </span>
          <Act icon="scan" onClick={() => void refreshAgents().then(() => showDone(t('scanned')))}>
            {t('scan')}
          </Act>
          <Act icon="plus" changes onClick={() => setSearch({ add: true })}>
            {t('add')}
          </Act>
        </PageHead>
        {grid.error && <ErrorState error={grid.error} />}
        {grid.isPending && !grid.error && <Skeleton rows={10} height={42} />}
        {isEmpty && <Empty hasAgents={grid.columns.length > 0} />}
        {!isEmpty && !grid.isPending && (
          <>
            <Toolbar
              grid={grid}
              q={q}
              shown={show}
              counts={{ differs: differing.size, unwritten: countOf(grid.staged) }}
              columns={names}
              onChange={({ shown, columns: next, ...rest }) =>
                setSearch({
                  ...rest,
                  ...(shown !== undefined && { show: shown }),
                  ...(next && { agents: next }),
                })
              }
            />
            {servers.length === 0 && <p className="muted">{t('nothingFits')}</p>}
            {isPhone ? (
              <PhoneList {...shared} chosen={agent} onChoose={(next) => setSearch({ agent: next })} />
            ) : (
              <PegGrid
                {...shared}
                columns={columns}
                onCopy={(to, from) =>
                  toggle.copy(to, (server) => !['off', 'none'].includes(grid.cellAt(server, from).state))
                }
                onPreset={(to, preset, ids) =>
                  to.via === 'gateway'
                    ? setOpen({ kind: 'apply', column: to, preset })
                    : toggle.copy(to, ({ id }) => ids === null || ids.includes(id))
                }
                onAction={(kind, column) =>
                  setOpen(
                    kind === 'preset'
                      ? { kind, column }
                      : {
                          kind: 'file',
                          title:
                            kind === 'connect'
                              ? t('connectTitle', { agent: column.agent.name })
                              : `${t(kind).replace('…', '')}: ${column.agent.name}`,
                          action: { kind, agent_type: typeOf(column) },
                        },
                  )
                }
              />
            )}
            {!isPhone && <Legend />}
          </>
        )}
      </div>
      <StageBar grid={grid} onShow={() => setOpen({ kind: 'write' })} />
      {add && <AddAgentDialog onClose={() => setSearch({ add: false })} />}
      {open && <Dialog open={open} grid={grid} onClose={() => setOpen(undefined)} />}
    </div>
  )
}

const differingIn = ({ servers, columns, savedCellAt }: Grid): ReadonlySet<Server> =>
  new Set(
    servers.filter((server) => columns.some((column) => savedCellAt(server, column).state === 'differs')),
  )

const typeOf = ({ agent }: Column): string => agent.agent_type

interface DialogProps {
  readonly open: Open
  readonly grid: Grid
  readonly onClose: () => void
}

function Dialog({ open, grid, onClose }: DialogProps) {
  switch (open.kind) {
    case 'write':
      return grid.staged.size > 0 ? <WriteDialog grid={grid} onClose={onClose} /> : null
    case 'tools':
      return <ToolsDrawer server={open.server} column={open.column} onClose={onClose} />
    case 'differs':
      return (
        <DiffersDialog
          server={open.server}
          column={open.column}
          entries={grid.savedCellAt(open.server, open.column).entries}
          onClose={onClose}
        />
      )
    case 'preset': {
      const on = grid.servers.filter(
        (server) => !['off', 'none'].includes(grid.cellAt(server, open.column).state),
      )
      return <PresetDialog column={open.column} servers={on.map(({ id }) => id)} onClose={onClose} />
    }
    case 'apply':
      return <ApplyDialog column={open.column} preset={open.preset} onClose={onClose} />
    case 'file':
      return <FileChangeDialog title={open.title} action={open.action} onClose={onClose} />
  }
}

function Empty({ hasAgents }: { readonly hasAgents: boolean }) {
  const [, navigate] = useLocation()
  return (
    <section className="card" aria-label={t('title')}>
      <EmptyState
        title={t(hasAgents ? 'noServers' : 'none')}
        text={t(hasAgents ? 'noServersText' : 'noneText')}
      >
        <Act look="main" onClick={() => navigate('/welcome')}>
          {t('welcome')}
        </Act>
      </EmptyState>
    </section>
  )
}
